module krm.example/functions

go 1.26

require (
	github.com/GoogleContainerTools/kpt-functions-catalog/functions/go/apply-replacements v0.1.1
	github.com/GoogleContainerTools/kpt-functions-catalog/functions/go/set-namespace v0.4.1
	github.com/GoogleContainerTools/kpt-functions-catalog/functions/go/starlark v0.4.3
)
