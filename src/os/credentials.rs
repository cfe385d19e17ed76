//! What a request says about who sends it: headers the user names, and those a credential helper gives.
//!
//! A credential helper is a program that is started as `PROGRAM get`, reads `{"uri": "https://HOST/"}` and prints
//! `{"headers": {"Authorization": ["Bearer ..."]}, "expires": "2030-01-01T00:00:00Z"}`, as for Bazel and other clients. It is
//! asked for every server krm speaks to: caches, workers and registries of images.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use krm_engine::policy::Limits;
use krm_engine::runtime::{Argument, Output, Permission, Tool, run_tool};
use serde::Deserialize;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

/// How long a helper may take.
const TO_ANSWER: Duration = Duration::from_secs(60);
/// How long headers are used if the helper does not say when they expire.
const HOLDS: Duration = Duration::from_secs(30 * 60);
/// How long before they expire new headers are asked for: a request takes time.
const BEFORE_THE_END: Duration = Duration::from_secs(10);
/// How often a helper is asked again because a server refuses what it gave. Many requests may be refused at once, and a
/// helper may have nothing else to give.
const BETWEEN_REFUSALS: Duration = Duration::from_secs(60);

/// Headers for requests.
#[derive(Debug, Default)]
pub struct Credentials {
    fixed: HeaderMap,
    helper: Option<String>,
    given: Mutex<Given>,
}

/// What a helper gave.
#[derive(Debug, Default)]
struct Given {
    /// The headers, and until when they hold.
    headers: Option<(HeaderMap, SystemTime)>,
    refused: Option<Instant>,
}

impl Given {
    /// Drops headers that a server refused, unless others were refused a moment ago: then these are newer than the refusal.
    fn forget(&mut self, now: Instant) {
        if self.refused.is_none_or(|before| now.duration_since(before) >= BETWEEN_REFUSALS) {
            *self = Self { headers: None, refused: Some(now) };
        }
    }
}

/// What a helper prints.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    headers: std::collections::BTreeMap<String, Vec<String>>,
    expires: Option<String>,
}

impl Credentials {
    /// Headers as `(name, value)`, and the program of a helper.
    pub fn new(headers: &[(String, String)], helper: Option<String>) -> Result<Self, String> {
        let mut fixed = HeaderMap::new();
        for (name, value) in headers {
            let (name, value) = header(name, value)?;
            fixed.append(name, value);
        }
        Ok(Self { fixed, helper, given: Mutex::default() })
    }

    /// The headers for a server. The error says what is wrong with the helper.
    pub fn headers(&self, uri: &str) -> Result<HeaderMap, String> {
        let mut headers = self.fixed.clone();
        if let Some(helper) = &self.helper {
            // One at a time: all others wait for what it says.
            let mut given = self.given.lock().expect("no one panics while holding the headers");
            let fresh = given.headers.take().filter(|(_, end)| SystemTime::now() + BEFORE_THE_END < *end);
            let (more, end) = match fresh {
                Some(fresh) => fresh,
                None => ask(helper, uri).map_err(|why| format!("`{helper}` {why}"))?,
            };
            headers.extend(more.clone());
            given.headers = Some((more, end));
        }
        Ok(headers)
    }

    /// Drops what a helper gave, because a server does not take it. At most once per `BETWEEN_REFUSALS`.
    pub fn forget(&self) {
        self.given.lock().expect("no one panics while holding the headers").forget(Instant::now());
    }

    /// Whether asking again may give other headers.
    pub fn can_renew(&self) -> bool {
        self.helper.is_some()
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let name = HeaderName::try_from(name.to_ascii_lowercase())
        .map_err(|_| format!("`{name}` cannot be the name of a header"))?;
    let mut value = HeaderValue::try_from(value)
        .map_err(|_| format!("the value of the header `{name}` has characters that headers cannot have"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Asks a program that keeps secrets: `PROGRAM get`, with the question on standard input. What it prints is not for messages:
/// it may hold a secret.
pub fn get_from(program: &str, question: Vec<u8>, timeout: Duration) -> Result<Output, String> {
    let tool = Tool {
        program: program.to_owned(),
        args: vec![Argument::Text("get".into())],
        needs: Permission::Given,
        timeout: Some(timeout),
        ..Tool::default()
    };
    run_tool(&tool, question, &Limits::default(), super::supervisor().as_deref())
        .map_err(|error| format!("cannot be started: {}", error.message()))?
        .map_err(|error| format!("cannot be started: {error}"))
}

fn ask(helper: &str, uri: &str) -> Result<(HeaderMap, SystemTime), String> {
    let question = serde_json::json!({ "uri": uri }).to_string();
    let output = get_from(helper, question.into_bytes(), TO_ANSWER)?;
    if !output.status.is_success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = stderr.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        return Err(format!("gives no credentials for {uri}: {} {said}", output.status));
    }
    let answer: Answer = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("does not print what a credential helper prints: {error}"))?;
    let mut headers = HeaderMap::new();
    for (name, values) in &answer.headers {
        for value in values {
            let (name, value) = header(name, value)?;
            headers.append(name, value);
        }
    }
    let end = match &answer.expires {
        None => SystemTime::now() + HOLDS,
        Some(text) => expiry(text).ok_or_else(|| format!("names a time that cannot be read: `{text}`"))?,
    };
    Ok((headers, end))
}

/// Reads a time as RFC 3339 has it.
fn expiry(text: &str) -> Option<SystemTime> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let zone = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = match zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), ..] if zone.len() == 6 => {
            let part = |range: std::ops::Range<usize>| zone.get(range)?.parse::<i64>().ok();
            let minutes = part(1..3)? * 60 + part(4..6)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    // Days since 1970, by the calendar's cycle of 400 years that begins in March.
    let year = if month <= 2 { year - 1 } else { year };
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let cycle = year.div_euclid(400);
    let of_cycle = year.rem_euclid(400);
    let days = cycle * 146_097 + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + in_year - 719_468;
    let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(seconds).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let seconds = |text| {
            expiry(text)
                .map(|time| time.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs())
        };
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-03-01T00:00:00Z"), Some(951_868_800));
        assert_eq!(seconds("2024-02-29T12:30:45.123+02:00"), Some(1_709_202_645));
        assert_eq!(seconds("2024-02-29T05:30:45-05:00"), Some(1_709_202_645));
        assert_eq!(seconds("tomorrow"), None);
        assert_eq!(seconds("2024-02-29T05:30:45"), None);
        assert_eq!(seconds("2024-02-29T05:30:45+0é:0"), None);
    }

    #[test]
    fn many_refusals_at_once_are_one() {
        let (now, end) = (Instant::now(), SystemTime::now() + HOLDS);
        let mut given = Given { headers: Some((HeaderMap::new(), end)), refused: None };
        given.forget(now);
        assert!(given.headers.is_none(), "the first refusal counts");
        given.headers = Some((HeaderMap::new(), end));
        given.forget(now + Duration::from_secs(1));
        assert!(given.headers.is_some(), "a request that was sent before is refused, too");
        given.forget(now + BETWEEN_REFUSALS);
        assert!(given.headers.is_none(), "later the new headers may have expired");
    }

    #[test]
    fn headers_are_checked() {
        assert!(Credentials::new(&[("a b".into(), "c".into())], None).is_err());
        assert!(Credentials::new(&[("a".into(), "c\nd".into())], None).is_err());
        assert!(Credentials::new(&[("Authorization".into(), "Bearer x".into())], None).is_ok());
    }
}
