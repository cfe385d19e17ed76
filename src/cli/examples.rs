//! The examples under each command's `--help`. All of them run as they are from the root of the repository, which
//! `tests/help.rs` sees to.

pub const KRM: &str = "Examples:
  krm build examples/shop/overlays/production
  krm plan examples/composition/staging
  krm cfg tree examples/shop --image

The exit status is 0 for success, 1 for an error in the input (then nothing is written), 2 for a usage error, 3 for \
differences that `krm diff --exit-code` found, and 101 for a bug in krm.";

pub const BUILD: &str = "Examples:
  krm build examples/shop/overlays/production
  krm build examples/composition/staging --enable-alpha-plugins --enable-exec
  krm build examples/shop/overlays/production -o all.yaml
  krm build examples/shop/base examples/shop/overlays/* -o rendered/
  krm build examples/shop/overlays/* -o out/ --remote-cache http://localhost";

pub const AFFECTED: &str = "Examples:
  krm affected examples --files examples/shop/base/web.yaml
  krm affected examples --files examples/shop/base/web.yaml | xargs -r krm build --mirror -o out
  krm affected main...HEAD --format json examples";

pub const CREATE: &str = "Examples:
  mkdir new && cp examples/shop/base/web.yaml new && krm create -C new --autodetect
  mkdir new && krm create -C new --resources ../examples/shop/base --namespace shop";

pub const HELP: &str = "Examples:
  krm help fn run
  krm help patch-target-no-match";

pub const DIFF: &str = "Examples:
  krm diff --overlays examples/shop/base examples/shop/overlays/production
  krm diff main...HEAD
  krm diff HEAD~1 'examples/shop/overlays/*' --stat";

pub const EXPLAIN: &str = "Examples:
  krm explain examples/shop/overlays/production Deployment/web spec.replicas
  krm explain examples/shop/overlays/production Deployment/web
  krm explain examples/shop/overlays/* Deployment/web spec.replicas
  krm explain examples/shop/overlays/production --blame
  krm explain --source examples/shop/base/kustomization.yaml:3 examples/shop/overlays/*
  krm explain --html production.html examples/shop/overlays/production
  krm explain examples/package --allow-exec Deployment/web metadata.labels.tier";

pub const GRAPH: &str = "Examples:
  krm graph examples/shop/overlays/production
  krm graph examples/answers --level layers
  krm graph examples/shop/overlays/production --format svg > graph.svg
  krm graph --reverse examples/shop/base
  krm graph --why examples/shop/base/web.yaml examples/shop/overlays/production";

pub const SERVE: &str = "Example:
  krm serve examples/shop/overlays/production";

pub const EDIT: &str = "Examples:
  krm edit -C examples/shop/overlays/production set image nginx:1.29 --diff
  krm edit -C 'examples/shop/overlays/*' set namespace shop
  krm edit -C examples/shop/base add label team:shop";

pub const EDIT_ADD: &str = "Examples:
  krm edit -C examples/shop/base add label team:shop
  krm edit -C examples/shop/base add configmap settings --from-literal=LOG_LEVEL=debug
  krm edit -C examples/shop/base add patch --kind Deployment \\
    --patch '[{op: replace, path: /spec/replicas, value: 2}]'";

pub const EDIT_SET: &str = "Examples:
  krm edit -C examples/shop/overlays/production set image nginx=registry.example.com/nginx:1.29
  krm edit -C examples/shop/overlays/production set replicas web=5
  krm edit -C examples/shop/overlays/production set namesuffix -- -blue";

pub const EDIT_FIX: &str = "Examples:
  krm edit -C examples/shop/base fix
  krm edit -C 'examples/shop/overlays/*' fix --diff";

pub const EDIT_MOVE: &str = "Examples:
  krm edit move examples/shop/base/web.yaml examples/shop/base/front/web.yaml
  krm edit move examples/shop/base examples/shop/common --diff";

pub const EDIT_RENAME: &str = "Examples:
  krm edit rename Deployment/web front --root examples/shop --diff
  krm edit rename ConfigMap/settings shop-settings --root examples/shop";

pub const EDIT_EXTRACT: &str = "Examples:
  krm edit -C examples/shop/overlays/production extract patches[0] --to limits.yaml --diff";

pub const LINT: &str = "Examples:
  krm lint examples/mistakes
  krm lint examples/shop --fix --diff
  krm lint examples/shop --select unused-file,remote-moves

The exit status is 1 if there is an error, or, with `--strict`, any finding.";

pub const LOCALIZE: &str = "Examples:
  krm localize examples/shop/base local
  krm localize examples/shop/overlays/production local --scope examples/shop";

pub const LSP: &str = "Examples:
  krm lsp < /dev/null
  nvim -c 'lua vim.lsp.start({cmd = {\"krm\", \"lsp\"}})' examples/shop/base/kustomization.yaml";

pub const OPENAPI: &str = "Example:
  krm openapi info";

pub const OPENAPI_INFO: &str = "Example:
  krm openapi info";

pub const OPENAPI_FETCH: &str = "Example, if kubectl can reach a cluster:
  krm openapi fetch > schema.json";

pub const EDIT_REMOVE: &str = "Examples:
  krm edit -C examples/shop/base remove resource '*.yaml' --dry-run
  krm edit -C examples/shop/base remove annotation team --ignore-non-existence";

pub const MERGE: &str = "Examples:
  krm merge examples/update-a-package/upstream-v2 examples/update-a-package/ours
  echo '{apiVersion: apps/v1, kind: Deployment, metadata: {name: cache}, spec: {replicas: 5}}' |
    krm merge - examples/update-a-package/ours --write";

pub const MERGE3: &str = "Examples, within examples/update-a-package:
  krm merge3 --original upstream-v1 --updated upstream-v2 --dest ours
  krm merge3 --original upstream-v1 --updated upstream-v2 --dest ours --write

The exit status is 1 if `--on-conflict fail` meets a conflict: then nothing is printed or written.";

pub const PLAN: &str = "Examples:
  krm plan examples/composition/production/top
  krm plan examples/shop/overlays/production --format json";

pub const SCHEMA: &str = "Example:
  krm schema composition > composition.schema.json

Then let an editor know it, with a first line in each file:
  # yaml-language-server: $schema=composition.schema.json";

pub const COMPLETION: &str = "Example, for this shell:
  source <(krm completion bash)";

pub const MAN: &str = "Examples:
  krm man build | grep -A2 enable-helm
  krm man fn run --roff | man -l -
  krm man --output man1";

pub const VERSION: &str = "Examples:
  krm version
  krm version --format json";

pub const CFG: &str = "Examples:
  krm cfg tree examples/shop --image --replicas
  krm cfg grep kind=Deployment examples/shop
  krm cfg fmt examples/shop";

pub const CAT: &str = "Examples:
  krm cfg cat examples/shop/base
  krm cfg cat examples/shop/base --wrap-kind ResourceList --annotate";

pub const COUNT: &str = "Examples:
  krm cfg count examples/shop
  krm build examples/shop/overlays/production | krm cfg count";

pub const FMT: &str = "Examples:
  krm cfg fmt examples/shop
  krm cfg fmt --check examples/shop || echo run krm cfg fmt
  krm cfg fmt --diff examples/shop
  krm build examples/shop/base | krm cfg fmt

The exit status is 1 if `--check` finds a file that is not formatted.";

pub const GREP: &str = "Examples:
  krm cfg grep kind=Deployment examples/shop
  krm cfg grep 'metadata.name=^w' examples/shop --annotate=false
  krm cfg grep 'spec.template.spec.containers[name=web].image=:1' examples/shop
  krm cfg grep 'spec.replicas>1' examples/shop
  krm cfg grep spec.replicas --invert-match examples/shop

The exit status is 0 even if nothing matches: then nothing is printed.";

pub const TREE: &str = "Examples:
  krm cfg tree examples/shop
  krm cfg tree examples/shop --image --replicas
  krm build examples/shop/overlays/production | krm cfg tree - --all";

pub const FN: &str = "Examples:
  krm fn run examples/website --enable-exec --dry-run
  krm fn source examples/shop/base | krm fn sink out";

pub const FN_RUN: &str = "Examples:
  krm fn run examples/website --enable-exec --dry-run
  krm fn run examples/package --exec-path examples/package/set-tier.sh --enable-exec -- tier=web
  krm fn run examples/shop/base --image example.com/set-label:v1 -- team=shop";

pub const FN_SOURCE: &str = "Example:
  krm fn source examples/package | examples/package/set-tier.sh | krm fn sink out";

pub const FN_SINK: &str = "Example:
  krm fn source examples/shop/base | krm fn sink out";

pub const FN_WRAP: &str = "Example:
  krm fn source examples/website --fn-config examples/website/functions/10-generate.yaml |
    krm fn wrap -- examples/functions/nginx.sh";

pub const FN_XARGS: &str = "Example:
  krm fn source examples/shop/base | krm fn xargs -- grep kind";

pub const FN_DOC: &str = "Examples:
  krm fn doc --exec-path examples/functions/run/nginx --enable-exec
  krm fn doc example.com/set-label:v1";

pub const PKG: &str = "Examples:
  krm pkg tree examples/package
  krm pkg cat examples/package/db";

pub const PKG_INIT: &str = "Example:
  krm pkg init shop --description 'The shop, and what it needs'";

pub const PKG_TREE: &str = "Example:
  krm pkg tree examples/package";

pub const PKG_CAT: &str = "Example:
  krm pkg cat examples/package/db";

pub const FN_RENDER: &str = "Examples:
  krm fn render examples/package --allow-exec
  krm fn render examples/package --allow-exec -o unwrap
  krm fn render examples/package --allow-exec && krm fn render examples/package --allow-exec --check";

pub const FN_EVAL: &str = "Examples:
  krm fn eval examples/package --image example.com/set-label -- tier=web
  krm fn eval examples/package --exec examples/package/set-tier.sh -o unwrap -- tier=web
  krm fn source examples/package | krm fn eval - --exec examples/package/set-tier.sh -- tier=web";

pub const PKG_GET: &str = "Example:
  krm pkg get https://git.example.com/team/packages.git/shop@v1 my-package";

pub const PKG_UPDATE: &str = "Examples:
  krm pkg update my-package@v2
  krm pkg update my-package@v2 --diff
  krm pkg update my-package --all";

pub const PKG_DIFF: &str = "Examples:
  krm pkg diff my-package
  krm pkg diff my-package@v2 --diff-type 3way --diff-tool diff3";

pub const LOCK: &str = "Examples:
  krm lock examples/shop
  krm lock examples/shop --check
  krm lock examples/shop --update";

pub const VENDOR: &str = "Examples:
  krm lock my-package && krm vendor my-package
  krm vendor my-package --check";

pub const CACHE: &str = "Examples:
  krm cache info
  krm cache gc --unused-for 30d --max-size 5Gi";

pub const CACHE_INFO: &str = "Example:
  krm cache info";

pub const CACHE_GC: &str = "Examples:
  krm cache gc
  krm cache gc --unused-for 7d --max-size 5Gi";

pub const CACHE_CLEAR: &str = "Example:
  krm cache clear";
