// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#document",
  deepLinking: true,
  layout: "BaseLayout",
  presets: [SwaggerUIBundle.presets.apis],
  // Neither a validator of somebody else's nor a document from another place.
  validatorUrl: null,
  queryConfigEnabled: false,
  // Kept nowhere: a key typed into the page is gone with it.
  persistAuthorization: false,
  showExtensions: true,
});
