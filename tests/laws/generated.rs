//! Kustomizations made at random: a base, perhaps one in between with a component, and an overlay, each with some of what
//! kustomizations can do.

use std::fmt::Write as _;

use fastrand::Rng;

use crate::targets::Target;

/// Decides what a kustomization has, the same for the same seed.
struct Dice(Rng);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0.u64(..end)
    }

    /// True once in so many times.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        self.0.choice(of).expect("there are some")
    }
}

/// The target of a seed.
pub fn target(seed: u64) -> Target {
    let mut dice = Dice(Rng::with_seed(seed));
    let mut files = vec![
        ("base/web.yaml".to_owned(), web(&mut dice)),
        ("base/kustomization.yaml".to_owned(), base(&mut dice)),
    ];
    files.push(("base/app.properties".into(), "currency=EUR\nlog.level=info\n".into()));
    files.push(("base/app.env".into(), "# settings\nREGION=north\nDEPTH=3\n".into()));
    let mut below = "../base";
    if dice.once_in(2) {
        files.push(("part/kustomization.yaml".into(), component(&mut dice)));
        files.push(("part/sidecar.yaml".into(), SIDECAR.to_owned()));
        files.push(("middle/kustomization.yaml".into(), layer(&mut dice, below, true)));
        below = "../middle";
    }
    files.push(("overlay/kustomization.yaml".into(), layer(&mut dice, below, false)));
    files.push(("overlay/more.yaml".into(), MORE.to_owned()));
    let files = files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect();
    Target { name: format!("generated/{seed}"), folder: "overlay".into(), files }
}

const SIDECAR: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: tracer\n        image: shop/tracer:0.9\n      - name: web\n        imagePullPolicy: Always\n";

const MORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  minReadySeconds: 5\n  template:\n    spec:\n      containers:\n      - name: web\n        args: null\n        env:\n        - name: EXTRA\n          value: more\n        resources:\n          limits:\n            memory: 512Mi\n";

fn web(dice: &mut Dice) -> String {
    let mut text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels:\n    app: web\nspec:\n  replicas: {}\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n    spec:\n      serviceAccountName: runner\n      containers:\n      - name: web\n        image: {}\n        args: [--log=plain, --color]\n        env:\n        - name: HOST\n          value: REPLACE_ME\n        - name: LEVEL\n          valueFrom:\n            configMapKeyRef:\n              name: settings\n              key: GREETING\n        envFrom:\n        - configMapRef:\n            name: settings\n        resources:\n          limits: {{memory: 256Mi}}\n",
        1 + dice.below(3),
        dice.one(&["shop/web:1.0.0", "registry.example.com/shop/web:1.0.0", "shop/web"]),
    );
    text.push_str("---\napiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  selector:\n    app: web\n  ports:\n  - port: 80\n    targetPort: 8080\n");
    text.push_str("---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: runner\n");
    if dice.once_in(2) {
        text.push_str("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: may\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: watch\nsubjects:\n- kind: ServiceAccount\n  name: runner\n");
        text.push_str("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: watch\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get]\n");
    }
    if dice.once_in(2) {
        text.push_str("---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata:\n  name: web\nspec:\n  maxReplicas: 5\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: web\n");
    }
    text
}

fn base(dice: &mut Dice) -> String {
    let mut text =
        "resources:\n- web.yaml\nconfigMapGenerator:\n- name: settings\n  literals:\n  - GREETING=hello\n"
            .to_owned();
    if dice.once_in(2) {
        text.push_str("  files:\n  - app.properties\n");
    }
    if dice.once_in(2) {
        text.push_str("  envs:\n  - app.env\n");
    }
    if dice.once_in(3) {
        text.push_str("secretGenerator:\n- name: keys\n  literals:\n  - password=secret\n  type: Opaque\n");
    }
    if dice.once_in(4) {
        text.push_str("generatorOptions:\n  disableNameSuffixHash: true\n");
    }
    if dice.once_in(2) {
        text.push_str("labels:\n- pairs:\n    part-of: shop\n");
    }
    if dice.once_in(3) {
        text.push_str("commonAnnotations:\n  note: base\n");
    }
    text
}

fn component(dice: &mut Dice) -> String {
    let mut text =
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: sidecar.yaml\n"
            .to_owned();
    if dice.once_in(2) {
        text.push_str(
            "configMapGenerator:\n- name: settings\n  behavior: merge\n  literals:\n  - TRACING=on\n",
        );
    }
    text
}

fn layer(dice: &mut Dice, below: &str, with_component: bool) -> String {
    let mut text = format!("resources:\n- {below}\n");
    if with_component {
        text.push_str("components:\n- ../part\n");
    }
    let prefix = if with_component { "mid" } else { "prod" };
    if dice.once_in(2) {
        let _ = writeln!(text, "namePrefix: {prefix}-");
    }
    if dice.once_in(4) {
        let _ = writeln!(text, "nameSuffix: -{}", dice.one(&["v1", "v2"]));
    }
    if dice.once_in(2) {
        let _ = writeln!(text, "namespace: {prefix}-space");
    }
    if dice.once_in(2) {
        text.push_str("images:\n- name: shop/web\n");
        text.push_str(dice.one(&[
            "  newTag: 1.4.2\n",
            "  newName: eu/shop/web\n",
            "  newName: shop/other\n  newTag: \"2\"\n",
            "  digest: sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3\n",
        ]));
    }
    if dice.once_in(3) {
        let _ = write!(text, "replicas:\n- name: web\n  count: {}\n", 2 + dice.below(5));
    }
    if dice.once_in(2) {
        text.push_str(dice.one(&[
            "labels:\n- pairs:\n    team: checkout\n  includeSelectors: true\n",
            "labels:\n- pairs:\n    team: checkout\n  includeTemplates: true\n",
            "commonLabels:\n  team: checkout\n",
        ]));
    }
    patches(dice, &mut text, with_component);
    if dice.once_in(2) {
        text.push_str("replacements:\n- source:\n    kind: Service\n    name: web\n    fieldPath: metadata.name\n  targets:\n  - select:\n      kind: Deployment\n      name: web\n    fieldPaths:\n    - spec.template.spec.containers.[name=web].env.[name=HOST].value\n");
    }
    if dice.once_in(3) {
        text.push_str("configMapGenerator:\n- name: extra\n  literals:\n  - A=one\n");
        if dice.once_in(2) {
            text.push_str("- name: settings\n  behavior: merge\n  literals:\n  - GREETING=welcome\n");
        }
    }
    text
}

fn patches(dice: &mut Dice, text: &mut String, with_component: bool) {
    let chosen: Vec<bool> = (0..5).map(|_| dice.once_in(3)).collect();
    if !chosen.contains(&true) {
        return;
    }
    text.push_str("patches:\n");
    if chosen[0] && !with_component {
        text.push_str("- path: more.yaml\n");
    }
    if chosen[1] {
        let _ = write!(
            text,
            "- target:\n    kind: Deployment\n    name: web\n  patch: |-\n    - op: replace\n      path: /spec/replicas\n      value: {}\n",
            3 + dice.below(4)
        );
    }
    if chosen[2] {
        text.push_str("- patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata:\n      name: web\n    spec:\n      type: NodePort\n");
    }
    if chosen[3] {
        text.push_str("- target:\n    labelSelector: app=web\n  patch: |-\n    - op: add\n      path: /metadata/annotations\n      value: {owner: someone}\n");
    }
    // The list may not stay empty.
    text.push_str("- target:\n    kind: Deployment\n  patch: |-\n    - op: add\n      path: /spec/template/spec/containers/0/stdin\n      value: true\n");
}
