//! `sortOptions:` says in which order resources are printed.

use std::cmp::Reverse;

use krm_yaml::{Diagnostic, Result, Spanned, Text};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use crate::pipeline::{Context, Transformer};
use crate::resource::list::Resources;
use crate::resource::{Gvk, Resource, ResourceId};

/// Puts resources in order, at the very end of a build.
///
/// ```yaml
/// sortOptions:
///   order: legacy
///   legacySortOptions:
///     orderFirst: [Namespace, CustomResourceDefinition]
///     orderLast: [ValidatingWebhookConfiguration]
/// ```
///
/// `fifo` keeps them in the order they were read. `legacy` puts the kinds of `orderFirst` first, in that order, those of
/// `orderLast` last, and all others between them; within a kind, resources go by group, version, namespace and name. With no
/// `legacySortOptions` there is a fixed list of what others depend on: namespaces first, webhooks last. It is what `build`
/// does when nothing is said.
#[derive(Clone, Debug)]
pub(crate) struct SortOrder {
    order: Order,
    first: Vec<Text>,
    last: Vec<Text>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Fifo,
    Legacy,
}

/// A kustomization's `sortOptions:`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct SortOptions {
    pub order: Spanned<Text>,
    pub legacy_sort_options: Option<Spanned<LegacySortOptions>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct LegacySortOptions {
    pub order_first: Vec<Text>,
    pub order_last: Vec<Text>,
}

/// What others depend on comes first.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// What may stop others from being made comes last.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

impl SortOrder {
    /// The order of the list itself.
    pub(crate) fn fifo() -> Self {
        Self { order: Order::Fifo, first: Vec::new(), last: Vec::new() }
    }

    /// The older order, with its fixed list of kinds.
    pub(crate) fn legacy() -> Self {
        let texts = |kinds: &[&str]| kinds.iter().map(|k| Text::from(*k)).collect();
        Self { order: Order::Legacy, first: texts(&FIRST), last: texts(&LAST) }
    }

    pub(crate) fn new(options: SortOptions) -> Result<Self> {
        let SortOptions { order, legacy_sort_options } = options;
        match (order.value.as_str(), legacy_sort_options) {
            ("fifo", None) => Ok(Self::fifo()),
            ("fifo", Some(options)) => Err(Diagnostic::error(
                "sort-options-unused",
                "`legacySortOptions` is set, but the order is `fifo`",
            )
            .at(options.span)
            .help("remove `legacySortOptions`, or write `order: legacy`")),
            ("legacy", None) => Ok(Self::legacy()),
            ("legacy", Some(options)) => {
                let LegacySortOptions { order_first, order_last } = options.value;
                Ok(Self { order: Order::Legacy, first: order_first, last: order_last })
            }
            (other, _) => {
                Err(Diagnostic::error("sort-order-unknown", format!("there is no order `{other}`"))
                    .at(order.span)
                    .help("write `order: legacy` or `order: fifo`"))
            }
        }
    }
}

/// From this many on, their names are built in parallel.
const MANY: usize = 256;

impl Transformer for SortOrder {
    fn transform(&self, items: &mut Resources, _cx: &Context) -> Result<()> {
        if self.order == Order::Fifo {
            return Ok(());
        }
        refuse_equal_ids(items)?;
        let mut ranks = FxHashMap::default();
        let first =
            self.first.iter().enumerate().map(|(at, kind)| (kind, at as i64 - self.first.len() as i64));
        let last = self.last.iter().enumerate().map(|(at, kind)| (kind, at as i64 + 1));
        ranks.extend(first.chain(last));
        let places = places(items, |kind| ranks.get(kind).copied().unwrap_or(0));
        // quirk(legacy-order-compares-one-text): In legacy order, group, version, kind, namespace and name are compared
        // as one text, so that `a-b` sorts before `a`. (`SortOrderTransformer.legacyResIDSortString`)
        let name = |id: &ResourceId| {
            fn or<'t>(text: &'t Text, none: &'t str) -> &'t str {
                if text.is_empty() { none } else { text }
            }
            [or(&id.namespace, "~X"), "|", or(&id.name, "~N")].concat()
        };
        let key = |(at, r): (usize, &Resource)| (places[r.gvk()], name(r.id()), at);
        let mut order: Vec<_> = items.as_slice().par_iter().with_min_len(MANY).enumerate().map(key).collect();
        order.par_sort_unstable();
        // Taken one after the other: they are large, and sorting them as they are would move each many times.
        let mut old: Vec<Option<Resource>> =
            std::mem::take(items.as_vec_mut()).into_iter().map(Some).collect();
        let next = |(.., at): (usize, String, usize)| old[at].take().expect("each comes once");
        *items.as_vec_mut() = order.into_iter().map(next).collect();
        Ok(())
    }
}

/// Where each group, version and kind comes among the others of a list.
fn places(items: &Resources, rank: impl Fn(&Text) -> i64) -> FxHashMap<Gvk, usize> {
    let mut gvks: Vec<Gvk> =
        items.iter().map(|r| r.gvk()).collect::<FxHashSet<_>>().into_iter().cloned().collect();
    // Of several kinds called Namespace the one without a group comes first, and the others follow it.
    let is_core = |gvk: &Gvk| gvk.kind == "Namespace" && gvk.group.is_empty();
    let core = gvks.iter().filter(|gvk| is_core(gvk)).map(gvk_text).max();
    gvks.sort_by_cached_key(|gvk| {
        let text = gvk_text(gvk);
        let (first, then) = match &core {
            Some(core) if is_core(gvk) => (core.clone(), (0, Some(Reverse(text)), None)),
            Some(core) if gvk.kind == "Namespace" => (core.clone(), (1, None, Some(text))),
            _ => (text, (0, None, None)),
        };
        (rank(&gvk.kind), first, then)
    });
    gvks.into_iter().enumerate().map(|(at, gvk)| (gvk, at)).collect()
}

/// Transformers may have made two ids equal; this is the last moment to notice.
fn refuse_equal_ids(items: &Resources) -> Result<()> {
    let Some([first, r]) = items.duplicates() else { return Ok(()) };
    Err(Diagnostic::error("ids-made-equal", format!("two resources end up as {}", r.id()))
        .at(r.span())
        .note("the other one is this", first.span())
        .help("give them different names before prefixes, suffixes and namespaces are set"))
}

/// Where a kind is in the older order.
pub(crate) fn legacy_rank(kind: &str) -> i64 {
    let first = FIRST.iter().position(|k| *k == kind).map(|at| at as i64 - FIRST.len() as i64);
    let last = || LAST.iter().position(|k| *k == kind).map(|at| at as i64 + 1);
    first.or_else(last).unwrap_or(0)
}

/// A group, version and kind as one text that sorts as it always did.
pub(crate) fn gvk_text(gvk: &Gvk) -> String {
    let or = |text: &Text, none: &'static str| if text.is_empty() { none.into() } else { text.clone() };
    format!("{}_{}_{}", or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K"))
}
