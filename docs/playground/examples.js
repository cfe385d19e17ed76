// What there is to try. Each is a small project of its own, and `look` is in the line whose history is shown first.

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: example.com/web:1.0
        envFrom:
        - configMapRef:
            name: settings
`;

export const examples = {
  overlay: {
    title: 'An overlay',
    look: 'image: ',
    target: 'overlays/production',
    files: {
      'base/kustomization.yaml': `resources:
- web.yaml
configMapGenerator:
- name: settings
  literals:
  - LOG_LEVEL=info
`,
      'base/web.yaml': web,
      'overlays/production/kustomization.yaml': `resources:
- ../../base
namePrefix: prod-
namespace: shop
replicas:
- name: web
  count: 5
images:
- name: example.com/web
  newTag: "1.4"
configMapGenerator:
- name: settings
  behavior: merge
  literals:
  - LOG_LEVEL=warn
`,
    },
  },
  patch: {
    title: 'Patches',
    look: 'memory: ',
    target: 'production',
    files: {
      'base/kustomization.yaml': 'resources:\n- web.yaml\n',
      'base/web.yaml': web,
      'production/kustomization.yaml': `resources:
- ../base
patches:
- path: resources.yaml
- target:
    kind: Deployment
  patch: |
    - op: add
      path: /spec/template/spec/containers/-
      value:
        name: proxy
        image: example.com/proxy:2.1
`,
      'production/resources.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: web
        resources:
          limits:
            memory: 512Mi
`,
    },
  },
  replacement: {
    title: 'Replacements',
    look: 'value: ',
    target: '.',
    files: {
      'kustomization.yaml': `resources:
- web.yaml
- service.yaml
namePrefix: live-
replacements:
- source:
    kind: Service
    name: web
    fieldPath: metadata.name
  targets:
  - select:
      kind: Deployment
    fieldPaths:
    - spec.template.spec.containers.[name=web].env.[name=SERVICE].value
`,
      'web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
      - name: web
        image: example.com/web:1.0
        env:
        - name: SERVICE
          value: to be replaced
`,
      'service.yaml': 'apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n',
    },
  },
  composition: {
    title: 'A Composition',
    look: 'name: ',
    target: 'staging',
    files: {
      'common/composition.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
transformers:
- apiVersion: builtin
  kind: NamespaceTransformer
  metadata:
    name: set-namespace
    namespace: shop
- apiVersion: builtin
  kind: PrefixTransformer
  metadata:
    name: set-prefix
  prefix: common-
`,
      'staging/composition.yaml': `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Composition
transformers:
- apiVersion: builtin
  kind: ResourceGenerator
  metadata:
    name: resources
  files:
  - web.yaml
transformersFrom:
- path: ../common/composition.yaml
  importMode: append
transformerOverrides:
- apiVersion: builtin
  kind: PrefixTransformer
  metadata:
    name: set-prefix
  prefix: staging-
`,
      'staging/web.yaml': 'apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports:\n  - port: 80\n',
    },
  },
};
