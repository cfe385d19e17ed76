//! A page as JSON that is small, and small again when it is compressed.
//!
//! Numbers of texts, places and events mostly follow each other, so each is written as its distance from the one before it of
//! the same sort: resources of one shape then look the same. The script of the page adds them up in the same order.

use serde::Serialize;
use serde_json::{Value, json};

use super::model::{Event, FieldEvents, Layer, Page, PageStep, Resource, Start, Warning};

#[derive(Serialize)]
struct Compact<'p> {
    target: &'p str,
    texts: &'p [String],
    kinds: Vec<&'static str>,
    files: Vec<(&'p str, Vec<i64>)>,
    places: Vec<i64>,
    events: Vec<Value>,
    layers: &'p [Layer],
    steps: &'p [PageStep],
    resources: Vec<Value>,
    warnings: &'p [Warning],
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: &'p Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: &'p Option<Start>,
}

pub(super) fn json(page: &Page) -> String {
    let mut text = Distance::default();
    let files = page.files.iter().map(|file| {
        let mut number = Distance::default();
        let lines = file.lines.iter().flat_map(|(n, id)| [number.next(*n), text.next(*id)]).collect();
        (file.name.as_str(), lines)
    });
    let files = files.collect();
    let (mut file, mut line, mut column) = Default::default();
    let places = page.places.iter().flat_map(|place| {
        let length = i64::from(place.end_line) - i64::from(place.line);
        let width = i64::from(place.end_column) - i64::from(place.column);
        let (file, line): (&mut Distance, &mut Distance) = (&mut file, &mut line);
        let column: &mut Distance = &mut column;
        [file.next(place.file), line.next(place.line), column.next(place.column), length, width]
    });
    let places = places.collect();
    let mut kinds = Vec::new();
    let mut events = Events::default();
    let all = page.events.iter().map(|event| events.value(event, &mut kinds)).collect();
    let mut distances = Distances::default();
    let resources = page.resources.iter().map(|resource| distances.resource(resource)).collect();
    let compact = Compact {
        target: &page.target,
        texts: &page.texts,
        kinds,
        files,
        places,
        events: all,
        layers: &page.layers,
        steps: &page.steps,
        resources,
        warnings: &page.warnings,
        failure: &page.failure,
        start: &page.start,
    };
    serde_json::to_string(&compact).expect("nothing in here has keys that are not texts")
}

/// The number that was last written.
#[derive(Default)]
struct Distance(i64);

impl Distance {
    fn next(&mut self, number: u32) -> i64 {
        let distance = i64::from(number) - self.0;
        self.0 = i64::from(number);
        distance
    }

    fn next_if_any(&mut self, number: Option<u32>) -> Value {
        number.map_or(Value::Null, |number| self.next(number).into())
    }
}

#[derive(Default)]
struct Events {
    label: Distance,
    place: Distance,
    before: Distance,
    after: Distance,
}

impl Events {
    /// Kind, step, label, place, before, after, whether it decides (1) and is masked (2), causes.
    fn value(&mut self, event: &Event, kinds: &mut Vec<&'static str>) -> Value {
        let kind = kinds.iter().position(|kind| *kind == event.kind).unwrap_or_else(|| {
            kinds.push(event.kind);
            kinds.len() - 1
        });
        let flags = i64::from(event.decides) + 2 * i64::from(event.masked);
        let mut value = vec![
            json!(kind),
            json!(event.step),
            json!(self.label.next(event.label)),
            self.place.next_if_any(event.place),
            self.before.next_if_any(event.before),
            self.after.next_if_any(event.after),
            json!(flags),
        ];
        if !event.why.is_empty() {
            value.push(event.why.iter().map(|why| json!([why.text, why.place, why.events])).collect());
        }
        value.into()
    }
}

#[derive(Default)]
struct Distances {
    text: Distance,
    name: Distance,
    place: Distance,
    event: Distance,
}

impl Distances {
    /// API version, kind, origin, the step that took it away, versions, events of the whole, fields.
    fn resource(&mut self, resource: &Resource) -> Value {
        let origin = self.place.next_if_any(resource.origin);
        let versions: Vec<Value> = resource
            .versions
            .iter()
            .map(|version| {
                let mut field = Distance(-1);
                let hunks: Vec<Value> = version
                    .hunks
                    .iter()
                    .map(|hunk| {
                        let added = hunk.added.iter();
                        let added =
                            added.flat_map(|line| [self.text.next(line.text), field.next(line.field) - 1]);
                        json!([hunk.at, hunk.removed, added.collect::<Vec<i64>>()])
                    })
                    .collect();
                json!([version.step, version.namespace, self.name.next(version.name), hunks])
            })
            .collect();
        let whole: Vec<i64> = resource.whole.iter().map(|event| self.event.next(*event)).collect();
        let mut path = Distance::default();
        let fields: Vec<Value> = resource
            .fields
            .iter()
            .map(|field| {
                let events = match &field.events {
                    FieldEvents::Written(place) => json!(self.place.next(*place)),
                    FieldEvents::Several(events) => {
                        events.iter().map(|event| self.event.next(*event)).collect::<Vec<i64>>().into()
                    }
                };
                match field.is_leaf {
                    true => json!([path.next(field.path), events]),
                    false => json!([path.next(field.path), events, 1]),
                }
            })
            .collect();
        json!([resource.api_version, resource.kind, origin, resource.gone, versions, whole, fields])
    }
}
