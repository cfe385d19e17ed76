//! Images in registries: what a name means now, and what an image says about itself.
//!
//! Only what the OCI distribution specification says is spoken: manifests and blobs by GET, tokens where a registry asks
//! for one. Passwords are those that `docker login` or `podman login` left in their files, or with the programs these name;
//! otherwise a credential helper is asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use krm_engine::{Diagnostic, Node, Result};
use serde::Deserialize;

use super::content::sha256;
use super::credentials::{Credentials, get_from};
use super::http::{agent, explained};

/// An image by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageName {
    /// With a port, if one is written.
    pub registry: String,
    /// The name within it.
    pub path: String,
    /// A tag, or a digest as `sha256:...`.
    pub reference: String,
}

/// What an image says about how it is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageConfig {
    /// Of the manifest that was asked for; of several platforms, the list of all.
    pub digest: String,
    pub entrypoint: Vec<String>,
    pub command: Vec<String>,
    pub env: Vec<String>,
    pub folder: String,
    pub user: String,
    pub layers: Vec<Layer>,
}

/// A part of an image's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    pub digest: String,
    pub media_type: String,
    pub size: u64,
}

/// Where the parts of an image come from, by their digests; and a manifest by its tag.
pub trait Parts {
    fn manifest(&mut self, reference: &str) -> Result<Vec<u8>>;
    fn blob(&mut self, digest: &str) -> Result<Vec<u8>>;
}

impl ImageConfig {
    /// What an image says about itself, for Linux on this architecture, and the digest of its manifest. Everything is
    /// compared with its digest; only what a tag means is taken on trust.
    pub fn read(image: &str, reference: &str, parts: &mut dyn Parts) -> Result<Self> {
        let bytes = parts.manifest(reference)?;
        let digest = sha256(&bytes);
        if reference.contains(':') && reference != digest {
            return Err(wrong(image, reference));
        }
        let verified = |bytes: Vec<u8>, digest: &str| match sha256(&bytes) == digest {
            true => read(image, &bytes),
            false => Err(wrong(image, digest)),
        };
        let mut manifest = read(image, &bytes)?;
        if let Some(list) = manifest.get("manifests") {
            let platform = list.items().iter().find(|entry| is_ours(entry));
            let Some(one) = platform.and_then(|entry| entry.get("digest")).and_then(Node::as_str) else {
                let message = format!("`{image}` has no variant for Linux on {}", architecture());
                return Err(Diagnostic::error("image-of-other-platforms", message)
                    .help("functions run on Linux; ask for an image of this platform"));
            };
            let one = one.to_owned();
            manifest = verified(parts.manifest(&one)?, &one)?;
        }
        let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).unwrap_or_default().to_owned();
        let layers = manifest.get("layers").map(Node::items).unwrap_or_default();
        let layers = layers.iter().map(|layer| Layer {
            digest: text(layer, "digest"),
            media_type: text(layer, "mediaType"),
            size: text(layer, "size").parse().unwrap_or_default(),
        });
        let layers = layers.collect();
        let config = manifest.at(["config", "digest"]).and_then(Node::text).unwrap_or_default().to_owned();
        let config = verified(parts.blob(&config)?, &config)?;
        let config = config.get("config").cloned().unwrap_or_else(Node::null);
        let texts = |key: &str| {
            let items = config.get(key).map(Node::items).unwrap_or_default();
            items.iter().filter_map(|item| item.text().map(str::to_owned)).collect()
        };
        Ok(Self {
            digest,
            entrypoint: texts("Entrypoint"),
            command: texts("Cmd"),
            env: texts("Env"),
            folder: text(&config, "WorkingDir"),
            user: text(&config, "User"),
            layers,
        })
    }
}

const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
/// No manifest and no configuration is larger.
const LARGEST: u64 = 8 << 20;
const WITHIN: Duration = Duration::from_secs(60);

impl ImageName {
    /// Reads a name as the container engines do: without a registry it is on Docker Hub, without a tag it is `latest`.
    pub fn parse(image: &str) -> Self {
        let (name, reference) = match image.split_once('@') {
            Some((name, digest)) => (split_tag(name).0, digest),
            None => {
                let (name, tag) = split_tag(image);
                (name, if tag.is_empty() { "latest" } else { tag })
            }
        };
        let is_registry = |first: &str| first.contains(['.', ':']) || first == "localhost";
        let (registry, path) = match name.split_once('/').filter(|(first, _)| is_registry(first)) {
            Some(("docker.io" | "index.docker.io", path)) => ("registry-1.docker.io", path.to_owned()),
            Some((registry, path)) => (registry, path.to_owned()),
            None => ("registry-1.docker.io", name.to_owned()),
        };
        let path = match registry == "registry-1.docker.io" && !path.contains('/') {
            true => format!("library/{path}"),
            false => path,
        };
        Self { registry: registry.to_owned(), path, reference: reference.to_owned() }
    }

    /// Over TLS, except on this machine: as the container engines do.
    fn origin(&self) -> String {
        let host = self.registry.split(':').next().unwrap_or_default();
        let scheme = if is_this_machine(host) { "http" } else { "https" };
        format!("{scheme}://{}/", self.registry)
    }

    fn url(&self, what: &str, reference: &str) -> String {
        format!("{}v2/{}/{what}/{reference}", self.origin(), self.path)
    }
}

fn is_this_machine(host: &str) -> bool {
    ["localhost", "127.0.0.1"].contains(&host)
}

/// Whether a login may be sent to an address: over TLS, or within this machine.
fn may_see_a_login(address: &str) -> bool {
    let is_here = |rest: &str| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        // `localhost:80@example.com` is not on this machine.
        !authority.contains('@') && is_this_machine(authority.split(':').next().unwrap_or_default())
    };
    address.starts_with("https://") || address.strip_prefix("http://").is_some_and(is_here)
}

fn split_tag(image: &str) -> (&str, &str) {
    let last = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[last..].find(':') {
        Some(colon) => (&image[..last + colon], &image[last + colon + 1..]),
        None => (image, ""),
    }
}

/// A connection to the registry of one image.
pub struct Registry {
    image: String,
    name: ImageName,
    agent: ureq::Agent,
    /// How long it may take for a manifest.
    pub(super) within: Duration,
    /// Asked if no login is known.
    credential_helper: Option<String>,
    token: Option<String>,
}

impl Registry {
    pub fn of(image: &str, credential_helper: Option<&str>) -> Self {
        Self::within(image, credential_helper, WITHIN)
    }

    pub(super) fn within(image: &str, credential_helper: Option<&str>, within: Duration) -> Self {
        Self {
            image: image.to_owned(),
            name: ImageName::parse(image),
            agent: agent(within),
            within,
            credential_helper: credential_helper.map(str::to_owned),
            token: None,
        }
    }

    /// What the image says about itself, for Linux on this architecture, and the digest of its manifest.
    pub fn config(&mut self) -> Result<ImageConfig> {
        let (image, reference) = (self.image.clone(), self.name.reference.clone());
        ImageConfig::read(&image, &reference, self)
    }

    fn get(&mut self, what: &str, reference: &str) -> Result<Vec<u8>> {
        let mut response = self.response(what, reference, self.within)?;
        let body = response.body_mut().with_config().limit(LARGEST).read_to_vec();
        body.map_err(|error| self.failed(explained(&error)))
    }

    pub(super) fn response(
        &mut self,
        what: &str,
        reference: &str,
        within: Duration,
    ) -> Result<ureq::http::Response<ureq::Body>> {
        let url = self.name.url(what, reference);
        let mut response = self.ask(&url, within)?;
        if response.status() == 401 {
            let challenge = response.headers().get("www-authenticate").and_then(|value| value.to_str().ok());
            self.token = Some(self.log_in(challenge.unwrap_or_default())?);
            response = self.ask(&url, within)?;
        }
        if !response.status().is_success() {
            let status = response.status();
            let error = self.failed(format!("its registry says {status}"));
            return Err(match status.as_u16() {
                401 | 403 => error.help(format!("log in with `docker login {}`", self.name.registry)),
                404 => error.help("check the name and the tag"),
                _ => error,
            });
        }
        Ok(response)
    }

    fn ask(&self, url: &str, within: Duration) -> Result<ureq::http::Response<ureq::Body>> {
        let request = self.agent.get(url).config().timeout_global(Some(within)).build();
        let mut request = request.header("accept", MANIFESTS);
        if let Some(token) = &self.token {
            request = request.header("authorization", token);
        }
        request.call().map_err(|error| self.failed(explained(&error)))
    }

    /// Gets what a registry wants to see, as it says in its challenge.
    fn log_in(&self, challenge: &str) -> Result<String> {
        let known = match login(&self.name.registry).map_err(|why| self.failed(why))? {
            Some(login) => Some(login),
            None => self.of_helper()?,
        };
        let Some(parameters) = strip_word(challenge, "Bearer") else {
            return known.ok_or_else(|| {
                let help = format!("log in with `docker login {}`", self.name.registry);
                self.failed("its registry asks for a password".into()).help(help)
            });
        };
        // A helper may give the very token that could be asked for.
        if let Some(token) = known.as_ref().filter(|known| strip_word(known, "Bearer").is_some()) {
            return Ok(token.clone());
        }
        let get = |key: &str| {
            let parts = parameters.split(',').filter_map(|part| part.trim().split_once('='));
            parts
                .into_iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.trim_matches('"').to_owned())
        };
        let realm = get("realm").unwrap_or_default();
        if !may_see_a_login(&realm) {
            return Err(
                self.failed(format!("its registry asks for a token from `{realm}`, which is not safe"))
            );
        }
        let scope = get("scope").unwrap_or_else(|| format!("repository:{}:pull", self.name.path));
        let mut request = self.agent.get(&realm).query("scope", scope);
        if let Some(service) = get("service") {
            request = request.query("service", service);
        }
        if let Some(login) = &known {
            request = request.header("authorization", login);
        }
        let mut response = request.call().map_err(|error| self.failed(explained(&error)))?;
        let body = response.body_mut().with_config().limit(LARGEST).read_to_vec();
        let body = read(&self.image, &body.map_err(|error| self.failed(explained(&error)))?)?;
        let token = body.get("token").or_else(|| body.get("access_token")).and_then(Node::as_str);
        let token = token.ok_or_else(|| self.failed(format!("`{realm}` gives no token")))?;
        Ok(format!("Bearer {token}"))
    }

    /// What a credential helper says to show to this registry.
    fn of_helper(&self) -> Result<Option<String>> {
        let credentials = Credentials::new(&[], self.credential_helper.clone());
        let headers = credentials.and_then(|credentials| credentials.headers(&self.name.origin()));
        let headers = headers.map_err(|why| self.failed(why))?;
        let authorization = headers.get("authorization").and_then(|value| value.to_str().ok());
        Ok(authorization.map(str::to_owned))
    }

    pub(super) fn failed(&self, why: String) -> Diagnostic {
        failed(&self.image, &why)
    }
}

impl Parts for Registry {
    fn manifest(&mut self, reference: &str) -> Result<Vec<u8>> {
        self.get("manifests", reference)
    }

    fn blob(&mut self, digest: &str) -> Result<Vec<u8>> {
        self.get("blobs", digest)
    }
}

fn failed(image: &str, why: &str) -> Diagnostic {
    Diagnostic::error("registry-failed", format!("the image `{image}` cannot be looked up: {why}"))
}

fn wrong(image: &str, digest: &str) -> Diagnostic {
    failed(image, &format!("its registry gives something else for `{digest}`"))
}

fn read(image: &str, bytes: &[u8]) -> Result<Node> {
    let text = String::from_utf8_lossy(bytes);
    let documents = krm_yaml::parse_str(&text).map_err(|error| {
        failed(image, &format!("its registry does not answer with what the OCI specification says: {error}"))
    })?;
    Ok(documents.into_iter().next().map_or_else(Node::null, |document| document.root))
}

fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let start = text.get(..word.len())?;
    start.eq_ignore_ascii_case(word).then(|| text[word.len()..].trim_start())
}

/// The architecture of this machine, as images name it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn is_ours(entry: &Node) -> bool {
    let text = |key| entry.at(["platform", key]).and_then(Node::text);
    text("os") == Some("linux") && text("architecture") == Some(architecture())
}

/// What to show to a registry, as a header has it: by the files of `docker login` and `podman login`, or by a program that
/// these name. The error says what is wrong with that program.
fn login(registry: &str) -> Result<Option<String>, String> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let files = [
        folder("REGISTRY_AUTH_FILE"),
        folder("DOCKER_CONFIG").map(|dir| dir.join("config.json")),
        folder("XDG_RUNTIME_DIR").map(|dir| dir.join("containers/auth.json")),
        folder("HOME").map(|dir| dir.join(".docker/config.json")),
    ];
    let names = match registry {
        "registry-1.docker.io" => vec!["https://index.docker.io/v1/", "docker.io"],
        other => vec![other],
    };
    for file in files.into_iter().flatten() {
        let Some(root) = read_logins(&file) else { continue };
        let said = |path: &[&str]| {
            root.at(path.iter().copied()).and_then(Node::as_str).filter(|text| !text.is_empty())
        };
        for name in &names {
            let program = said(&["credHelpers", name]).or_else(|| said(&["credsStore"]));
            let stored = program.map(|program| stored_login(program, name)).transpose()?.flatten();
            let written = || said(&["auths", name, "auth"]).map(|both| format!("Basic {both}"));
            if let Some(login) = stored.or_else(written) {
                return Ok(Some(login));
            }
        }
    }
    Ok(None)
}

/// A file of logins, if there is one that can be read.
fn read_logins(file: &Path) -> Option<Node> {
    let text = String::from_utf8(super::read(file).ok()?).ok()?;
    Some(krm_yaml::parse_str(&text).ok()?.into_iter().next()?.root)
}

/// The login that one of docker's credential helpers has for a registry, if it has one: `docker-credential-NAME get` reads the
/// name of the registry and prints `{"Username": "...", "Secret": "..."}`.
fn stored_login(program: &str, registry: &str) -> Result<Option<String>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Login {
        username: String,
        secret: String,
    }
    let program = format!("docker-credential-{program}");
    let output = get_from(&program, registry.as_bytes().to_vec(), WITHIN)
        .map_err(|why| format!("`{program}` {why}"))?;
    if !output.status.is_success() {
        // A missing login is not an error. Such programs report it on standard output.
        let said = String::from_utf8_lossy(&output.stdout);
        return match said.contains("credentials not found") {
            true => Ok(None),
            false => Err(format!("`{program}` gives no login for `{registry}`: {}", output.status)),
        };
    }
    // What it prints is not repeated: it holds a secret.
    let login: Login = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("`{program}` does not print what such a program prints"))?;
    // With this name the secret is not a password, but something to get tokens with in another way.
    if login.username == "<token>" {
        return Err(format!("`{program}` has an identity token for `{registry}`, which krm cannot use"));
    }
    let both = format!("{}:{}", login.username, login.secret);
    Ok(Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(both))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_are_sent_over_tls_or_not_at_all() {
        for address in ["https://example.com/token", "http://localhost/token", "http://127.0.0.1:5000?a=b"] {
            assert!(may_see_a_login(address), "{address}");
        }
        for address in [
            "http://example.com/token",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "http://localhost:80@example.com/",
            "ftp://localhost/",
            "",
        ] {
            assert!(!may_see_a_login(address), "{address}");
        }
    }

    #[test]
    fn names_are_read_as_the_engines_do() {
        for (image, registry, path, reference) in [
            ("nginx", "registry-1.docker.io", "library/nginx", "latest"),
            ("me/f:v1", "registry-1.docker.io", "me/f", "v1"),
            ("docker.io/nginx:1", "registry-1.docker.io", "library/nginx", "1"),
            ("localhost:5000/a/b", "localhost:5000", "a/b", "latest"),
            ("example.com/a:v1@sha256:00", "example.com", "a", "sha256:00"),
        ] {
            let name = ImageName::parse(image);
            assert_eq!(
                (&*name.registry, &*name.path, &*name.reference),
                (registry, path, reference),
                "{image}"
            );
        }
    }
}
