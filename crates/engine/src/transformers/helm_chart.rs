//! `helmCharts:` inflates charts, by the user's own `helm`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use krm_yaml::{Diagnostic, Failure, Node, Result, Span, Spanned, Text};
use rayon::prelude::*;
use serde::Deserialize;

use super::{Setup, read_config};
use crate::files::world::{ChartAddress, EntryKind, Loader, World, clean, provide};
use crate::merge::{self, Merged};
use crate::pipeline::trace::{Cause, Inflation};
use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;
use crate::resource::read;
use crate::resource::{Resource, Track};
use crate::runtime::policy::Helm;
use crate::runtime::{Argument, Output, Permission, Program, Tool};

/// Inflates helm charts into resources. Needs `--enable-helm`.
///
/// ```yaml
/// helmCharts:
/// - name: minecraft
///   repo: https://example.com/charts
///   version: 3.1.3
///   releaseName: moria
///   valuesInline: {difficulty: hard}
/// helmGlobals: {chartHome: charts}
/// ```
///
/// A chart that lies in `chartHome` is used as it is; another is pulled there first. Values are those of the chart or of
/// `valuesFile`, with `valuesInline` over them (`valuesMerge: override`, the default), under them (`merge`) or instead of them
/// (`replace`). helm runs with the user's own settings, repositories and logins; `configHome` names others.
#[derive(Clone)]
pub(crate) struct HelmCharts {
    charts: Vec<Spanned<Chart>>,
    globals: Globals,
    loader: Arc<dyn Loader>,
}

/// What all charts of a kustomization have in common: `helmGlobals:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Globals {
    pub chart_home: Text,
    pub config_home: Text,
}

/// One entry of `helmCharts:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Chart {
    pub name: Spanned<Text>,
    pub version: Text,
    pub repo: Text,
    pub release_name: Text,
    pub namespace: Text,
    pub values_file: Spanned<Text>,
    pub additional_values_files: Vec<Spanned<Text>>,
    pub values_inline: Option<Node>,
    pub values_merge: Spanned<Text>,
    #[serde(rename = "includeCRDs")]
    pub include_crds: bool,
    pub skip_hooks: bool,
    pub skip_tests: bool,
    pub api_versions: Vec<Text>,
    pub kube_version: Text,
    pub name_template: Text,
    pub debug: bool,
    pub devel: bool,
}

/// One entry of the deprecated `helmChartInflationGenerator:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct OldChart {
    pub chart_name: Spanned<Text>,
    pub chart_version: Text,
    pub chart_repo_url: Text,
    pub chart_home: Text,
    pub chart_repo_name: Text,
    pub helm_bin: Text,
    pub helm_home: Text,
    pub values: Spanned<Text>,
    pub values_local: Option<Node>,
    pub values_merge: Spanned<Text>,
    pub release_name: Text,
    pub release_namespace: Text,
    pub extra_args: Vec<Text>,
}

impl OldChart {
    /// What became of the old fields.
    // quirk(helm-old-fields-are-dropped): Fields of `helmChartInflationGenerator` that have no successor are dropped in
    // silence. (`types.SplitHelmParameters`)
    pub(crate) fn convert(old: Vec<Spanned<OldChart>>) -> (Vec<Spanned<Chart>>, Globals) {
        let mut globals = Globals::default();
        let charts = old.into_iter().map(|Spanned { value: old, span }| {
            if !old.helm_home.is_empty() {
                globals.config_home = old.helm_home;
            }
            if !old.chart_home.is_empty() {
                globals.chart_home = old.chart_home;
            }
            let chart = Chart {
                name: old.chart_name,
                version: old.chart_version,
                repo: old.chart_repo_url,
                values_file: old.values,
                values_inline: old.values_local,
                values_merge: old.values_merge,
                release_name: old.release_name,
                ..Chart::default()
            };
            Spanned::new(chart, span)
        });
        (charts.collect(), globals)
    }
}

/// Pulling a chart takes its time.
const TIMEOUT: Duration = Duration::from_secs(600);

impl HelmCharts {
    pub(crate) fn new(
        charts: Vec<Spanned<Chart>>,
        globals: Globals,
        loader: Arc<dyn Loader>,
    ) -> Result<Self> {
        for chart in &charts {
            if chart.name.is_empty() {
                return Err(Diagnostic::error("helm-no-name", "a helm chart has no name")
                    .at(chart.span)
                    .help("add `name:`, the chart's folder in `chartHome` or its name in `repo`"));
            }
            // Both are where helm takes options, of which some name programs to run.
            if let Some(option) = [&*chart.name, &chart.release_name].into_iter().find(|n| n.starts_with('-'))
            {
                let message = format!("neither a chart nor a release can be called `{option}`");
                return Err(Diagnostic::error("helm-name-is-an-option", message)
                    .at(chart.span)
                    .help("a name begins with a letter or a digit"));
            }
            if !["", "merge", "override", "replace"].contains(&chart.values_merge.as_str()) {
                let message = format!("`valuesMerge` cannot be `{}`", chart.values_merge);
                return Err(Diagnostic::error("helm-values-merge", message)
                    .at(chart.values_merge.span)
                    .help("write `override`, `merge` or `replace`"));
            }
        }
        Ok(Self { charts, globals, loader })
    }

    /// Makes the built-in `HelmChartInflationGenerator` from its configuration.
    pub(super) fn make(config: &Node, setup: &Setup) -> Result<Box<dyn Transformer>> {
        let (chart, globals) = (Spanned::new(read_config(config)?, config.span()), read_config(config)?);
        Ok(Box::new(Self::new(vec![chart], globals, setup.loader.clone())?))
    }
}

impl Transformer for HelmCharts {
    fn transform(&self, items: &mut Resources, cx: &Context) -> Result<()> {
        let Some(helm) = &cx.runtime.policy().helm else {
            if cx.runtime.skips("helm") {
                return Ok(());
            }
            let first = self.charts.first().map_or(Span::NONE, |chart| chart.name.span);
            return Err(Diagnostic::error("helm-not-enabled", "helm charts are not enabled")
                .failing(Failure::NotEnabled)
                .at(first)
                .help("helm runs with your rights: if you trust this configuration, pass `--enable-helm`"));
        };
        // Side by side: most of the time goes into waiting for helm.
        let inflated: Vec<_> = self
            .charts
            .par_iter()
            .map(|chart| {
                let run = Run { chart, globals: &self.globals, loader: &*self.loader, helm };
                run.inflate(cx).map_err(|d| d.at(chart.name.span))
            })
            .collect();
        for (chart, resources) in self.charts.iter().zip(inflated) {
            for mut r in resources? {
                cx.note(Track::NONE, r.span(), || Cause::Inflated {
                    chart: Box::new(Inflation {
                        chart: chart.name.value.clone(),
                        version: chart.version.clone(),
                        repository: chart.repo.clone(),
                        template: template_of(r.span(), cx),
                        values: chart.values_files(),
                        entry: chart.span,
                    }),
                });
                r.from_helm = true;
                items.push(r)?;
            }
        }
        Ok(())
    }
}

/// The template that a resource comes from: helm names it in a comment before each.
fn template_of(resource: Span, cx: &Context) -> Text {
    const MARK: &str = "# Source: ";
    let Some(output) = cx.sources.get(resource.file) else { return Text::new() };
    let before = &output.text()[..resource.start as usize];
    let name = before.rfind(MARK).and_then(|at| before[at + MARK.len()..].lines().next());
    name.unwrap_or_default().trim().into()
}

impl Chart {
    /// The files with values that the entry names.
    fn values_files(&self) -> Vec<Text> {
        let own = [&self.values_file.value].into_iter();
        let all = own.chain(self.additional_values_files.iter().map(|path| &path.value));
        all.filter(|path| !path.is_empty()).cloned().collect()
    }

    /// Where it is pulled from; `None` for one that must be in the tree.
    pub(crate) fn address(&self) -> Option<ChartAddress> {
        let Chart { name, version, repo, .. } = self;
        let address = || ChartAddress {
            name: name.to_string(),
            repository: repo.to_string(),
            version: version.to_string(),
        };
        (!repo.is_empty()).then(address)
    }
}

/// The arguments by which helm pulls a chart into a folder below this one.
pub fn pull_args(chart: &ChartAddress, home: &Path) -> Vec<String> {
    let ChartAddress { name, repository, version } = chart;
    let mut args = vec!["pull".to_owned(), "--untar".into(), "--untardir".into(), home.display().to_string()];
    match repository.starts_with("oci://") {
        true => args.push(format!("{}/{name}", repository.trim_end_matches('/'))),
        false => args.extend(["--repo".into(), repository.clone(), name.clone()]),
    }
    if !version.is_empty() {
        args.extend(["--version".into(), version.clone()]);
    }
    args
}

/// The folder that the folder of a chart is in: `charts` of the kustomization if no other is named, and in it one for each
/// version that is pulled.
pub(crate) fn home_of_chart(root: &Path, chart_home: &str, name: &str, version: &str, repo: &str) -> PathBuf {
    let home = root.join(if chart_home.is_empty() { "charts" } else { chart_home });
    match version.is_empty() || repo.is_empty() {
        true => clean(&home),
        false => clean(&home.join(format!("{name}-{version}"))),
    }
}

/// Looks at every file of a chart, since helm does so without asking the world: those who watch the world then know
/// what the result depends on.
fn look_at_all(world: &dyn World, folder: &Path) {
    for entry in world.list(folder).unwrap_or_default() {
        let path = folder.join(&entry.name);
        match entry.kind {
            EntryKind::Folder => look_at_all(world, &path),
            EntryKind::File | EntryKind::Link => drop(world.is_file(&path)),
            EntryKind::Other => {}
        }
    }
}

/// The inflation of one chart.
struct Run<'a> {
    chart: &'a Chart,
    globals: &'a Globals,
    loader: &'a dyn Loader,
    helm: &'a Helm,
}

impl Run<'_> {
    fn inflate(&self, cx: &Context) -> Result<Vec<Resource>> {
        let folder = self.folder(cx)?;
        // The chart, and files with values.
        for path in [&*folder, self.loader.root()] {
            provide(cx.world, path)?;
        }
        look_at_all(cx.world, &folder);
        let values = (format!("{}-values.yaml", self.file_name()), self.values(&folder, cx)?);
        let output = self.run(self.template_args(&folder)?, vec![values], cx)?;
        self.read(output.stdout, cx)
    }

    /// The folder of the chart, pulled if it does not exist.
    fn folder(&self, cx: &Context) -> Result<PathBuf> {
        let named = self.home();
        let address = self.chart.address();
        let mut folder = named.join(self.chart.name.as_str());
        if !cx.world.is_dir(&folder) {
            if let Some(kept) = address.as_ref().map_or(Ok(None), |address| cx.world.chart(address))? {
                return Ok(kept);
            }
            folder = cx.world.chart_home(&named)?.join(self.chart.name.as_str());
        }
        // Two charts may want the same folder; the second finds what the first has pulled.
        let lock = cx.runtime.lock_of(&folder);
        let _alone = lock.lock().expect("no one panics while pulling a chart");
        if !cx.world.is_dir(&folder) {
            self.pull(folder.parent().unwrap_or(&named), &folder, cx)?;
        }
        if let Some(address) = &address {
            cx.world.check_chart(address, &folder)?;
        }
        Ok(folder)
    }

    /// The name of the chart, as part of a file's name.
    fn file_name(&self) -> String {
        self.chart.name.replace('/', "-")
    }

    /// The folder charts are in.
    fn home(&self) -> PathBuf {
        let Chart { name, version, repo, .. } = self.chart;
        home_of_chart(self.loader.root(), &self.globals.chart_home, name, version, repo)
    }

    fn pull(&self, home: &Path, folder: &Path, cx: &Context) -> Result<()> {
        let Chart { name, devel, .. } = self.chart;
        let Some(address) = self.chart.address() else {
            let message = format!("there is no chart `{name}`, and no repository to pull it from");
            return Err(Diagnostic::error("helm-no-chart", message)
                .at(name.span)
                .note(format!("looked for it in `{}`", self.shown(&folder.display().to_string())), Span::NONE)
                .help("add `repo:`, or put the chart there"));
        };
        let mut args = pull_args(&address, home);
        if *devel {
            args.push("--devel".into());
        }
        self.run(args.into_iter().map(Argument::Text).collect(), Vec::new(), cx).map(drop)
    }

    /// The values to inflate the chart with.
    fn values(&self, folder: &Path, cx: &Context) -> Result<Vec<u8>> {
        let Chart { values_file, values_inline, values_merge, name, .. } = self.chart;
        let default = folder.join("values.yaml").display().to_string();
        let (path, place) = match values_file.is_empty() {
            true => (default.as_str(), name.span),
            false => (values_file.as_str(), values_file.span),
        };
        // A chart that is kept elsewhere is not in the folder of the kustomization, and may be read all the same.
        let is_kept = values_file.is_empty() && !folder.starts_with(self.home());
        let read = || {
            cx.world.read(path.as_ref()).map_err(|error| {
                let message = format!("the values of chart `{name}` cannot be read: {error}");
                Diagnostic::error("helm-no-values", message).at(place)
            })
        };
        let Some(inline) = values_inline.as_ref().filter(|values| !values.is_empty()) else {
            return if is_kept { read() } else { self.loader.load_bytes(path, place) };
        };
        if values_merge.as_str() == "replace" {
            return Ok(krm_yaml::canonical(inline).into_bytes());
        }
        let source = match is_kept {
            true => cx.sources.add_bytes(format!("{name}/values.yaml"), read()?)?,
            false => self.loader.load(path, place)?,
        };
        let root = krm_yaml::parse(&source)?.into_iter().next().map(|document| document.root);
        let written = root.filter(|root| !root.is_null()).unwrap_or_else(Node::map);
        let (over, under) = match values_merge.as_str() {
            "merge" => (&written, inline),
            _ => (inline, &written),
        };
        let merged = match merge::two_way(over, under, cx.schema, merge::Options::default())? {
            Merged::Same => under.clone(),
            Merged::Changed(merged) => merged,
            Merged::Deleted => Node::map(),
        };
        Ok(krm_yaml::canonical(&merged).into_bytes())
    }

    /// The arguments of `helm template`; the first file is the values.
    fn template_args(&self, folder: &Path) -> Result<Vec<Argument>> {
        let Chart { release_name, namespace, name_template, kube_version, .. } = self.chart;
        let name = if release_name.is_empty() { "--generate-name" } else { release_name.as_str() };
        let mut args: Vec<Argument> =
            vec!["template".into(), name.into(), folder.display().to_string().into()];
        let mut option = |name: &str, value: Argument| {
            if value != Argument::Text(String::new()) {
                args.extend([name.into(), value]);
            }
        };
        option("--namespace", namespace.as_str().into());
        option("--name-template", name_template.as_str().into());
        option("-f", Argument::File(0));
        for path in &self.chart.additional_values_files {
            // Read only to check that it may be.
            self.loader.load_bytes(path, path.span)?;
            option("-f", self.loader.root().join(path.as_str()).display().to_string().into());
        }
        match self.chart.api_versions.is_empty() {
            true => self.helm.api_versions.iter().for_each(|v| option("--api-versions", v.as_str().into())),
            false => self.chart.api_versions.iter().for_each(|v| option("--api-versions", v.as_str().into())),
        }
        let kube_version =
            if kube_version.is_empty() { &self.helm.kube_version } else { kube_version.as_str() };
        option("--kube-version", kube_version.into());
        let flags = [
            (self.chart.include_crds, "--include-crds"),
            (self.chart.skip_tests, "--skip-tests"),
            (self.chart.skip_hooks, "--no-hooks"),
            (self.chart.debug || self.helm.debug, "--debug"),
            (self.chart.devel, "--devel"),
        ];
        args.extend(flags.into_iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| flag.into()));
        Ok(args)
    }

    fn run(&self, args: Vec<Argument>, files: Vec<(String, Vec<u8>)>, cx: &Context) -> Result<Output> {
        let program = &self.helm.command;
        let mut env = Vec::new();
        if !self.globals.config_home.is_empty() {
            let home = Path::new(self.globals.config_home.as_str());
            for (name, folder) in [
                ("HELM_CONFIG_HOME", home.to_owned()),
                ("HELM_CACHE_HOME", home.join(".cache")),
                ("HELM_DATA_HOME", home.join(".data")),
            ] {
                env.push((name.to_owned(), Some(folder.display().to_string())));
            }
        }
        let shown = args.iter().map(|argument| match argument {
            Argument::Text(text) => self.shown(text),
            Argument::File(number) => files[*number].0.as_str(),
        });
        let shown = shown.collect::<Vec<_>>().join(" ");
        let verb = shown.split(' ').next().unwrap_or_default().to_owned();
        let tool = Tool {
            program: program.clone(),
            args,
            env,
            dir: None,
            files,
            needs: Permission::Helm,
            timeout: Some(TIMEOUT),
        };
        let output = cx.runtime.run(&Program::Tool(tool), Vec::new()).map_err(|error| {
            Diagnostic::error("helm-not-started", error.message().to_owned())
                .failing(Failure::NoSuchProgram)
                .help("install helm 3 or 4, or say where it is with `--helm-command`")
        })?;
        if output.status.is_success() {
            return Ok(output);
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = stderr.trim().replace('\n', "\n  ");
        let message = format!("helm {verb} failed for chart `{}`: {}", self.chart.name, output.status);
        Err(Diagnostic::error("helm-failed", message)
            .failing(Failure::ProgramFailed)
            .note(format!("helm says: {said}"), Span::NONE)
            .help(format!("the command was `{program} {shown}`")))
    }

    /// A path as it would be written in the kustomization.
    fn shown<'t>(&self, path: &'t str) -> &'t str {
        Path::new(path).strip_prefix(self.loader.root()).ok().and_then(Path::to_str).unwrap_or(path)
    }

    /// Reads what helm printed. It may have had something to say ahead of the first document.
    fn read(&self, output: Vec<u8>, cx: &Context) -> Result<Vec<Resource>> {
        let name = format!("helm template {}", self.chart.name);
        let inflated = |error: Diagnostic| {
            error.note(format!("in what chart `{}` was inflated to", self.chart.name), Span::NONE)
        };
        let source = cx.sources.add_bytes(name.as_str(), output).map_err(inflated)?;
        let error = match read::read(&source, cx.schema) {
            Ok(resources) => return Ok(resources),
            Err(error) => error,
        };
        let text = source.text();
        let rest = text.find("\n---").map(|at| cx.sources.add(name, &text[at + 1..]));
        match rest.map(|rest| read::read(&rest, cx.schema)) {
            Some(Ok(resources)) => Ok(resources),
            _ => Err(inflated(error)),
        }
    }
}
