{{ define "one" }}
a: {{ .Text | quote }}
{{ end }}
