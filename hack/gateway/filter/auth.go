// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// authorize asks the authorization server. The scope of the action chooses among its
// configurations.
func (s *Stream) authorize(ctx context.Context, a *action, step *Step) (*Answer, error) {
	request, err := s.checkRequest(a)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, "x-request-id", s.request.ID()), a.timeout)
	defer cancel()
	response, err := s.services.Authorization.Check(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("ask the authorization server: %w", err)
	}
	denied, ok := response.GetDeniedResponse(), response.GetOkResponse()
	switch {
	case denied != nil:
		answer := denial(denied)
		step.Result, step.Status = ResultDenied, answer.Status
		return answer, nil
	case ok == nil:
		return unusable(step, errors.New("the authorization server neither allows nor denies"))
	case len(ok.GetResponseHeadersToAdd())+len(ok.GetHeadersToRemove())+len(ok.GetQueryParametersToSet())+len(ok.GetQueryParametersToRemove()) > 0:
		return unusable(step, errors.New("the authorization server wants more than request headers set, which the filter does not support"))
	}
	step.Result = ResultAllowed
	if md := response.GetDynamicMetadata(); md != nil {
		s.auth = md.AsMap()
		step.Metadata = s.auth
	}
	for _, option := range ok.GetHeaders() {
		s.fields = s.fields.set(option.GetHeader().GetKey(), option.GetHeader().GetValue())
		step.Headers = append(step.Headers, option.GetHeader().GetKey())
	}
	s.seen = nil
	return nil, nil
}

// unusable answers with an error whatever the failure mode is, as the filter does
// with replies that it cannot apply.
func unusable(step *Step, err error) (*Answer, error) {
	step.Result, step.Error = ResultFailed, err.Error()
	return internalError(), nil
}

// denial is the reply to the client that the authorization server has made.
func denial(d *authv3.DeniedHttpResponse) *Answer {
	out := &Answer{Status: http.StatusForbidden, Header: http.Header{}, Body: d.GetBody(), outcome: OutcomeDenied}
	if code := int(d.GetStatus().GetCode()); code != 0 {
		out.Status = code
	}
	for _, option := range d.GetHeaders() {
		out.Header.Add(option.GetHeader().GetKey(), option.GetHeader().GetValue())
	}
	return out
}

// checkRequest carries the request as it came, before any rewrite, and the scope.
func (s *Stream) checkRequest(a *action) (*authv3.CheckRequest, error) {
	md, err := s.metadata(a)
	if err != nil {
		return nil, err
	}
	r := s.request
	return &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
		Source: peer(r.Source), Destination: peer(r.Destination),
		Request: &authv3.AttributeContext_Request{
			Time: timestamppb.New(r.Time),
			Http: &authv3.AttributeContext_HttpRequest{
				Method: r.Method, Host: r.Host, Scheme: r.Scheme, Path: r.fullPath(), Protocol: r.Protocol, Headers: s.fields.joined(),
			},
		},
		ContextExtensions: map[string]string{"host": a.scope},
		MetadataContext:   &corev3.Metadata{FilterMetadata: md},
	}}, nil
}

// metadata is what telemetry wants to know, which the filter sends along.
func (s *Stream) metadata(a *action) (map[string]*structpb.Struct, error) {
	out := map[string]*structpb.Struct{}
	for domain, entries := range a.metadata {
		fields := map[string]*structpb.Value{}
		for _, e := range entries {
			if e.value == nil {
				fields[e.key] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"cel_expr": structpb.NewStringValue(e.fixed)}})
				continue
			}
			text, err := e.text(s)
			if err != nil {
				return nil, err
			}
			fields[e.key] = structpb.NewStringValue(text)
		}
		out[domain] = &structpb.Struct{Fields: fields}
	}
	return out, nil
}

// peer describes an end of the connection. The filter puts the address with its port
// into the field for the address.
func peer(address string) *authv3.AttributeContext_Peer {
	_, port := split(address)
	number, err := strconv.ParseUint(strconv.FormatInt(port, 10), 10, 32)
	if err != nil {
		number = 0
	}
	return &authv3.AttributeContext_Peer{Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(number)},
	}}}}
}
