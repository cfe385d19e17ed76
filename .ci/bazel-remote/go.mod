module servers

go 1.24.0

require github.com/buchgr/bazel-remote/v2 v2.6.1
