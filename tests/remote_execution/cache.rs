//! Outputs of functions that run here, shared through a server.

use super::*;

/// Runs the function here, with outputs of earlier runs from a cache and for it.
fn cached(folder: &Folder, cache: &str, more: &[&str]) -> Output {
    let args = [
        "fn",
        "run",
        "pkg",
        "--dry-run",
        "--enable-exec",
        "--exec-path",
        "./fn",
        "--cache=all",
        "-o",
        "json",
    ];
    // What is kept on this machine would be found first.
    let _ = fs::remove_dir_all(folder.0.join("cache"));
    folder.krm(&[&args[..], &["--remote-cache", cache], more].concat())
}

fn was_cached(output: &Output) -> bool {
    text(&output.stderr).replace(' ', "").contains("\"cached\":true")
}

#[test]
fn outputs_are_shared_through_a_cache() {
    let real = server("KRM_TEST_REAPI");
    let fake = Fake::start(SANDBOX, well);
    for address in real.iter().chain([&fake.address]) {
        let folder = Folder::with_function("shared");
        // Something nobody has computed yet, and large enough to be sent in pieces.
        let unique = format!("# {}\n{}", std::process::id(), "# filler\n".repeat(600_000));
        for (name, comment) in [("small", ""), ("large", unique.as_str())] {
            let is_fake = address == &fake.address;
            if name == "large" && is_fake {
                continue;
            }
            folder.write(
                "pkg/b.yaml",
                &format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x{}\ndata:\n  x: |\n    {}\n",
                    std::process::id(),
                    comment.replace('\n', "\n    ").trim_end()
                ),
            );
            let computed = cached(&folder, address, &[]);
            assert!(
                succeeded(&computed).contains(RENAMED) && !was_cached(&computed),
                "{name}: nobody uploaded it"
            );
            let again = cached(&folder, address, &["--remote-upload"]);
            assert!(!was_cached(&again), "{name}: a run that does not upload leaves nothing there");
            let found = cached(&folder, address, &[]);
            assert!(was_cached(&found), "{name}: {}", text(&found.stderr));
            assert_eq!(succeeded(&found), succeeded(&computed), "{name}");
        }
    }
}

#[test]
fn a_cache_that_is_down_or_wrong_costs_a_warning() {
    let folder = Folder::with_function("down");
    let warned = |output: &Output, what: &str| {
        assert!(succeeded(output).contains(RENAMED) && !was_cached(output));
        let said = text(&output.stderr);
        assert_eq!(said.matches("remote-cache-failed").count(), 1, "{said}");
        assert!(said.contains(what), "{said}");
    };
    warned(&cached(&folder, "grpc://127.0.0.1:1", &["--remote-upload"]), "cannot be reached");
    let denies = Fake::start(SANDBOX, |_, _| Some(Instead::Status(16, "who are you")));
    warned(&cached(&folder, &denies.address, &["--remote-upload"]), "denies access: who are you");
    // Results that say one thing and blobs that are another.
    let lies = Fake::start(SANDBOX, |asked, _| match asked.method {
        "GetActionResult" => {
            let stderr = Some(Digest::of(b""));
            let result = ActionResult {
                stdout_digest: Some(Digest::of(b"good")),
                stderr_digest: stderr,
                ..ActionResult::default()
            };
            Some(Instead::Messages(vec![result.encode_to_vec()], 0))
        }
        "BatchReadBlobs" => {
            let read = BlobRead { digest: Some(Digest::of(b"good")), data: b"evil".to_vec(), status: None };
            Some(Instead::Messages(vec![BatchReadBlobsResponse { responses: vec![read] }.encode_to_vec()], 0))
        }
        _ => None,
    });
    warned(&cached(&folder, &lies.address, &[]), "is damaged");
    // A blob that the server dropped is not a fault: it is computed.
    let drops = Fake::start(SANDBOX, |asked, _| {
        (asked.method == "GetActionResult").then(|| {
            let stderr = Some(Digest::of(b""));
            let result = ActionResult {
                stdout_digest: Some(Digest::of(b"gone")),
                stderr_digest: stderr,
                ..ActionResult::default()
            };
            Instead::Messages(vec![result.encode_to_vec()], 0)
        })
    });
    let computed = cached(&folder, &drops.address, &[]);
    assert!(succeeded(&computed).contains(RENAMED));
    assert!(!text(&computed.stderr).contains("warning"), "{}", text(&computed.stderr));
}

#[test]
fn a_cache_over_https_takes_certificates() {
    use super::everywhere::Bazel;
    let folder = Folder::with_function("https");
    if !certificates(&folder) {
        super::left_out("openssl makes no certificates here");
        return;
    }
    let file = |name: &str| folder.0.join(name).display().to_string();
    let tls = ["--tls_cert_file", &file("server.pem"), "--tls_key_file", &file("server.key")];
    let Some(bazel) = Bazel::start_with("https", &tls) else { return };
    let trusting = ["--remote-tls-ca", "server.pem"];
    let filled = cached(&folder, &bazel.address, &[&trusting[..], &["--remote-upload"]].concat());
    assert!(succeeded(&filled).contains(RENAMED) && !text(&filled.stderr).contains("warning"));
    let found = cached(&folder, &bazel.address, &trusting);
    assert!(was_cached(&found), "{}", text(&found.stderr));
    // Nobody the system trusts has signed for it.
    let computed = cached(&folder, &bazel.address, &[]);
    assert_eq!(succeeded(&computed), succeeded(&found));
    let said = text(&computed.stderr);
    assert!(said.contains("no connection over TLS") && said.contains("--remote-tls-ca"), "{said}");

    let asks = Bazel::start_with("https", &[&tls[..], &["--tls_ca_file", &file("client.pem")]].concat());
    let asks = asks.expect("there is one");
    let own = ["--remote-tls-cert", "client.pem", "--remote-tls-key", "client.key"];
    let own = [&trusting[..], &own].concat();
    cached(&folder, &asks.address, &[&own[..], &["--remote-upload"]].concat());
    assert!(was_cached(&cached(&folder, &asks.address, &own)), "it takes our certificate");
    let said = text(&cached(&folder, &asks.address, &trusting).stderr);
    assert!(said.contains("remote-cache-failed"), "it takes nobody else: {said}");
}
