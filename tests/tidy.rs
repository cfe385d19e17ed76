//! The invariants of the house, as tests: see `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

#[path = "tidy/quirks.rs"]
mod quirks;

/// The modules of each library from the bottom up. A module may use those before it, and no others; those on one line are
/// parts of one idea, and may use each other. Above all of them is `lib.rs`, which [holds no code](doors_hold_no_code).
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "crates/yaml/src",
        &[
            &["text"],
            &["encoding"],
            &["similar"],
            &["missing_space"],
            &["source", "diag"],
            &["scalar", "node", "map"],
            &["document"],
            &["path"],
            &["json"],
            &["merge_keys"],
            &["parse"],
            &["embedded"],
            &["emit"],
            &["de"],
            &["ser"],
        ],
    ),
    (
        "crates/function/src",
        &[
            &["annotations"],
            &["elements"],
            &["lay_over"],
            &["object"],
            &["result"],
            &["list"],
            &["config"],
            &["select"],
            &["generate"],
            &["run"],
            &["testing"],
        ],
    ),
    (
        "crates/engine/src",
        &[
            &["limits"],
            &["files"],
            &["schema"],
            &["resource"],
            &["select"],
            &["merge"],
            &["patch"],
            &["runtime"],
            &["pipeline"],
            &["transformers"],
            &["functions"],
            &["catalog"],
            &["cfg"],
            &["composition"],
            &["package"],
            &["kustomization"],
            &["kpt"],
            &["workspace"],
            &["session"],
            &["compare"],
            &["explain"],
            &["diff"],
            &["graph"],
            &["page"],
            &["edit"],
            &["lint"],
            &["editor"],
        ],
    ),
];

#[test]
fn arrows_go_down() {
    let mut faults = Vec::new();
    for (library, layers) in LAYERS {
        let layer = |module: &str| layers.iter().position(|layer| layer.contains(&module));
        let door = fs::read_to_string(root().join(library).join("lib.rs")).expect("it is there");
        for file in sources(library).into_iter().filter(|file| !file.path.ends_with("src/lib.rs")) {
            let module = module_of(&file.path, library);
            let Some(own) = layer(&module) else {
                faults.push(format!("{}: module `{module}` has no layer in tests/tidy.rs", file.path));
                continue;
            };
            for name in used(&file) {
                match layer(&name) {
                    Some(other) if other > own => {
                        faults.push(format!("{}: `{module}` uses `{name}`, which is above it", file.path));
                    }
                    None => faults.push(format!(
                        "{}: `crate::{name}` goes through the door: name the module it is in",
                        file.path
                    )),
                    _ => {}
                }
            }
        }
        let gone = layers.iter().copied().flatten().filter(|name| !door.contains(&format!("mod {name};")));
        faults.extend(gone.map(|name| format!("{library}: there is no module `{name}`")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A door names modules and what they export, and does nothing itself: so it may stand above all of them.
#[test]
fn doors_hold_no_code() {
    let mut faults = Vec::new();
    for (library, _) in LAYERS {
        for file in sources(library).into_iter().filter(|file| file.path.ends_with("src/lib.rs")) {
            let code = file
                .code()
                .filter(|(_, line)| ["fn ", "impl ", "const ", "static "].iter().any(|c| line.contains(c)));
            faults.extend(code.map(|(number, line)| format!("{}:{number}: {}", file.path, line.trim())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What the folders of the program use besides themselves. `cli` names the arguments of every command, and commands use what
/// `cli` has for several of them: these two are one layer.
const PROGRAM: &[(&str, &[&str])] = &[
    ("main.rs", &["cli", "commands", "os", "report"]),
    ("os", &[]),
    ("page", &[]),
    ("remote", &["os"]),
    ("report", &["os", "remote"]),
    ("cli", &["commands", "os", "remote", "report"]),
    ("commands", &["cli", "os", "page", "report"]),
];

#[test]
fn arrows_go_down_in_the_program_too() {
    let mut faults = Vec::new();
    for entry in fs::read_dir(root().join("src")).expect("a readable folder") {
        let name = entry.expect("a readable folder").file_name().into_string().expect("a plain name");
        if !PROGRAM.iter().any(|(folder, _)| *folder == name) {
            faults.push(format!("src/{name} is in no layer"));
        }
    }
    for (folder, allowed) in PROGRAM {
        let own =
            |file: &SourceFile| file.path.strip_prefix("src/").is_some_and(|path| path.starts_with(folder));
        for file in sources("src").into_iter().filter(own) {
            let others = used(&file).into_iter().filter(|name| name != folder && !allowed.contains(&&**name));
            faults.extend(others.map(|name| format!("{}: `{folder}` uses `{name}`", file.path)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The first names after `crate::`, also of `use crate::{a, b::c}`, and of `super::` at the top of a module.
fn used(file: &SourceFile) -> BTreeSet<String> {
    let mut code: String = file.code().map(|(_, line)| line.to_owned() + "\n").collect();
    if file.is_at_the_top() {
        // Names of modules within are indented, and see the file itself as `super`.
        code = code.replace("\nuse super::", "\nuse crate::");
    }
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let Some(list) = after.strip_prefix('{') else {
            names.insert(name(after));
            continue;
        };
        let mut depth = 0;
        let mut start = true;
        for (at, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => start = true,
                c if start && !c.is_whitespace() => {
                    names.insert(name(&list[at..]));
                    start = false;
                }
                _ => {}
            }
        }
    }
    names.remove("");
    names
}

#[test]
fn grouped_imports_are_understood() {
    let text = "use crate::{a, b::{c, d}, e};\nuse crate::f::g;\n".to_owned();
    let names = used(&SourceFile { path: String::new(), text });
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a", "b", "e", "f"]);
    let used_in = |path: &str| {
        let text = "use std::fmt;\nuse super::{a, b};\nmod c {\n    use super::d;\n}\n".to_owned();
        used(&SourceFile { path: path.to_owned(), text }).into_iter().collect::<Vec<_>>()
    };
    assert_eq!(used_in("crates/engine/src/x.rs"), ["a", "b"]);
    assert_eq!(used_in("crates/engine/src/x/mod.rs"), ["a", "b"]);
    assert_eq!(used_in("crates/engine/src/x/y.rs"), [""; 0]);
}

/// `lib.rs` of the engine is its one door: modules that it does not make public are nobody else's business, and below
/// the public ones only these modules are public too.
#[test]
fn the_engine_has_one_door() {
    let public_below = [
        ("cfg", &["blank_lines", "comment_places", "format", "query", "tree"][..]),
        ("diff", &["json", "lines"]),
        (
            "edit",
            &[
                "create",
                "fix",
                "generators",
                "images",
                "labels",
                "lists",
                "localize",
                "moves",
                "overlay",
                "patches",
                "rename",
                "replicas",
            ],
        ),
        ("explain", &["json", "lines", "text"]),
        ("kpt", &["files"]),
        ("lint", &["fix", "stated", "tree", "warnings"]),
        ("runtime", &["reapi", "supervisor"]),
    ];
    let allowed = |module: &str, name: &str| {
        public_below.iter().any(|(parent, names)| *parent == module && names.contains(&name))
    };
    let mut faults = Vec::new();
    for file in sources("crates/engine/src") {
        let module = module_of(&file.path, "crates/engine/src");
        for (number, line) in file.code() {
            let Some(name) = line.trim().strip_prefix("pub mod ") else { continue };
            let name = name.trim_end_matches([';', ' ', '{']);
            match module == "lib" {
                true if !mentions(&file.text, name) => {
                    faults.push(format!("{}:{number}: `{name}` is missing in the table above", file.path))
                }
                false if !allowed(&module, name) => faults
                    .push(format!("{}:{number}: `{name}` is public: export what it has by name", file.path)),
                _ => {}
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether the table of a module's documentation links to a module.
fn mentions(text: &str, module: &str) -> bool {
    text.lines().any(|line| line.starts_with("//! |") && line.contains(&format!("[`{module}`]")))
}

#[test]
fn libraries_leave_the_machine_alone() {
    let touches =
        ["std::fs", "std::env::var", "std::net", "SystemTime", "println!", "print!", ".spawn()", ".output()"];
    let mut faults = Vec::new();
    for root in ["crates/yaml/src", "crates/engine/src"] {
        for file in sources(root) {
            if file.path.contains("/runtime/") {
                continue;
            }
            for (number, line) in file.code() {
                for touch in touches.iter().filter(|touch| line.contains(**touch)) {
                    faults.push(format!("{}:{number}: `{touch}` belongs in a `World`", file.path));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn yaml_knows_nothing_of_kubernetes() {
    let mut faults = Vec::new();
    for file in sources("crates/yaml/src") {
        let fields =
            file.code().filter(|(_, line)| line.contains("\"apiVersion\"") || line.contains("\"metadata\""));
        faults.extend(fields.map(|(number, line)| format!("{}:{number}: {}", file.path, line.trim())));
        // Comments and tests included: readers need not know any of these.
        for (number, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let words = ["kubernetes", "kubectl", "kustomiz", "configmap", "deployment", "kind: pod", "helm"];
            if words.iter().any(|word| lower.contains(word)) {
                faults.push(format!("{}:{}: {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Annotations of orchestrators, functions and builds are named in one file, so that no command forgets one.
#[test]
fn annotations_are_named_once() {
    let registry = "crates/function/src/annotations.rs";
    let text = fs::read_to_string(root().join(registry)).expect("it is there");
    let names =
        text.lines().filter(|line| line.starts_with("pub const ")).filter_map(|line| line.split('"').nth(1));
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 30, "they are found");
    let mut faults = Vec::new();
    for file in all_sources().into_iter().filter(|file| file.path != registry) {
        for (number, line) in file.code() {
            let is_named = |text: &str| names.contains(&text) || text.starts_with("internal.");
            if line.split('"').skip(1).step_by(2).any(is_named) {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Escapes of JSON pointers, and `.` and `..` in the paths of files, are read in one place each.
#[test]
fn there_is_one_of_each() {
    let only: [(&[&str], &[&str]); 2] = [
        (&["\"~1\"", "\"~0\""], &["crates/yaml/src/path.rs"]),
        // Files of a tree that is only looked at, and of other trees than that of this machine: those of an image or a commit.
        (
            &["Component::ParentDir", "Component::CurDir"],
            &[
                "crates/engine/src/files/paths.rs",
                "crates/engine/src/files/mod.rs",
                "crates/engine/src/runtime/sandbox/root.rs",
                "src/os/git/revision.rs",
                "src/os/targets.rs",
            ],
        ),
    ];
    let mut faults = Vec::new();
    for file in all_sources() {
        for (number, line) in file.code() {
            let is_elsewhere = |(words, files): &(&[&str], &[&str])| {
                words.iter().any(|word| line.contains(word)) && !files.contains(&file.path.as_str())
            };
            if only.iter().any(is_elsewhere) {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// How code would look at what a diagnostic says to people.
const COMPARISONS: [&str; 11] = [
    ".code() ==",
    ".code() !=",
    ".code().starts_with(",
    ".code().ends_with(",
    ".code().contains(",
    ".message().starts_with(",
    ".message().ends_with(",
    ".message().contains(",
    "message.starts_with(",
    "message.ends_with(",
    "message.contains(",
];

/// Code that goes on differently after some failures asks for the [`Failure`](krm_yaml::Failure); codes and
/// messages are for people. That also goes for tables of codes: one that lists failures by code misses the next code.
#[test]
fn nothing_branches_on_codes() {
    let mut faults = Vec::new();
    for file in all_sources().into_iter().filter(|file| !file.path.contains("/tests")) {
        // What is matched in `remote` are the codes of gRPC.
        let is_remote = file.path.starts_with("src/remote/");
        for (number, line) in file.code() {
            let compares = COMPARISONS.iter().any(|how| line.contains(how))
                || line.contains("match ")
                    && (line.contains(".code() {") || line.contains(".code {") && !is_remote)
                || line.contains("matches!(") && line.contains(".code(), \"")
                || is_in_table(line);
            if compares {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Whether a line looks a code up in a constant, such as `REMOTE.contains(&error.code())`.
fn is_in_table(line: &str) -> bool {
    let Some((before, after)) = line.split_once(".contains(&") else { return false };
    let is_constant = before.ends_with(|c: char| c.is_ascii_uppercase());
    is_constant && after.split(')').next().is_some_and(|asked| asked.ends_with(".code("))
}

/// The bytes of a file become text by `krm_yaml::decode` and its siblings, which know UTF-16: a command must not read what
/// another refuses. What programs print to standard error is for people, and shown as far as it can be.
#[test]
fn files_are_decoded_in_one_way() {
    // Values that may or may not be text, env files, which are always UTF-8, and escapes in addresses.
    const OTHER_BYTES: [&str; 3] =
        ["transformers/config_map.rs", "transformers/generator.rs", "files/repository.rs"];
    let mut faults = Vec::new();
    for file in sources("crates/engine/src") {
        let name = file.path.trim_start_matches("crates/engine/src/");
        if name.starts_with("runtime/") || OTHER_BYTES.contains(&name) {
            continue;
        }
        for (number, line) in file.code() {
            if line.contains("from_utf8") && !line.contains("stderr") {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Files that the page names exist: a reader who follows it finds them.
#[test]
fn the_architecture_names_files_that_exist() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let path = |name: &str| match name.split_once('/') {
        Some((library @ ("engine" | "yaml"), rest)) => format!("crates/{library}/src/{rest}"),
        Some(("runtime", _)) => format!("crates/engine/src/{name}"),
        _ => name.to_owned(),
    };
    let names = architecture.split('`').skip(1).step_by(2);
    let names = names.filter(|name| name.ends_with(".rs") && name.contains('/') && !name.contains(' '));
    let missing: Vec<&str> = names.filter(|name| !root().join(path(name)).is_file()).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {}", missing.join(", "));
}

/// Types and functions that the page names exist, too.
#[test]
fn the_architecture_names_code_that_exists() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let code: String = all_sources().into_iter().map(|file| file.text).collect();
    let is_defined = |name: &str| {
        let starts = ["struct", "enum", "trait", "type", "fn"].map(|what| format!("{what} {name}"));
        starts.iter().any(|start| {
            let after = code.match_indices(start.as_str()).map(|(at, _)| &code[at + start.len()..]);
            after.into_iter().any(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let is_name = |name: &&str| {
        name.contains(|c: char| c.is_uppercase() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || "_:".contains(c))
    };
    let names = architecture.split('`').skip(1).step_by(2).filter(is_name);
    let missing: Vec<&str> = names.filter(|name| !name.split("::").all(is_defined)).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md names {}", missing.join(", "));
}

/// Habits that sound translated, in comments, messages and docs alike. There is a plain word for each.
#[test]
fn the_english_is_plain() {
    let habits = [
        ("fits nothing", "matches nothing"),
        ("fits no ", "matches no"),
        ("see whether", "check that"),
        ("look whether", "check that"),
        ("put it so", "write it like this"),
        ("stands behind", "is after"),
        ("stands twice", "appears twice"),
        ("is no resource", "is not a resource"),
        ("is no regular", "is not a valid regular"),
        ("whoever", "anyone who"),
        ("told apart", "distinguished"),
        ("of theirs", "their"),
        ("comes twice", "appears twice"),
        ("is told", "is reported"),
        ("apart by", "distinguished by"),
        ("where none", "if none"),
        ("speaks of", "refers to"),
    ];
    let mut faults = Vec::new();
    let docs = files_named("docs", |name| name.ends_with(".md")).into_iter();
    let abouts = files_named("tests/cases", |name| name == "about");
    for file in all_sources().into_iter().chain(docs).chain(abouts) {
        for (number, line) in file.text.lines().enumerate() {
            let line = line.to_lowercase();
            for (habit, plain) in habits.iter().filter(|(habit, _)| line.contains(habit)) {
                // "There is no resource" is plain enough.
                if !line.contains("there is no") {
                    faults.push(format!("{}:{}: `{habit}`: write `{plain}`", file.path, number + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_stay_readable() {
    let long = |file: &SourceFile| file.text.lines().count() > 800;
    let long: Vec<String> = all_sources().into_iter().filter(long).map(|file| file.path).collect();
    assert!(long.is_empty(), "past 600 lines look for the seam: {}", long.join(", "));
}

/// Every code has a case, and a text `about` it that `krm help CODE` prints. Codes that no command can cause on every machine
/// have the text and an `example` written by hand, in `tests/out_of_reach`: they take a server, a full disk, another user or a
/// race, or belong to the libraries, whose unit tests cause them.
#[test]
fn every_code_has_a_case() {
    let mut codes: BTreeMap<String, String> = BTreeMap::new();
    for file in all_sources() {
        let code: String = file.code().map(|(_, line)| line.trim().to_owned() + " ").collect();
        for start in ["Diagnostic::error(", "Diagnostic::warning("] {
            for after in code.split(start).skip(1) {
                let Some(slug) = after.trim_start().strip_prefix('"').and_then(|s| s.split('"').next())
                else {
                    continue;
                };
                codes.insert(slug.to_owned(), file.path.clone());
            }
        }
    }
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(root().join(folder)).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    };
    let (cases, out_of_reach) = (names("tests/cases/errors"), names("tests/out_of_reach"));
    let mut faults = Vec::new();
    for (code, file) in &codes {
        // A case is named after its code; what comes after a dot distinguishes several of one code.
        let mut own = cases.iter().filter(|case| case.split('.').next() == Some(code)).peekable();
        let has_case = own.peek().is_some();
        match (has_case, out_of_reach.contains(code)) {
            (false, false) => faults.push(format!("{file}: `{code}` has no folder in tests/cases/errors")),
            (true, true) => {
                faults.push(format!("tests/out_of_reach/{code}: there is a case; move the text there"))
            }
            _ => {}
        }
        if has_case && !own.any(|case| root().join("tests/cases/errors").join(case).join("about").is_file()) {
            faults.push(format!("tests/cases/errors/{code}/about: say what the code means, and what to do"));
        }
    }
    for code in &out_of_reach {
        let example = fs::read_to_string(root().join("tests/out_of_reach").join(code).join("example"));
        if !example.is_ok_and(|text| text.contains(&format!("[{code}]: "))) {
            faults.push(format!("tests/out_of_reach/{code}/example: show the message and what causes it"));
        }
    }
    let unknown = out_of_reach.iter().filter(|code| !codes.contains_key(*code));
    faults.extend(unknown.map(|code| format!("tests/out_of_reach/{code}: there is no such code")));
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn unsafe_code_says_why_it_is_sound() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("it is there");
    let mut faults = Vec::new();
    for file in all_sources().into_iter().chain(sources("bindings/wasm/src")) {
        let lines: Vec<&str> = file.text.lines().collect();
        let is_unsafe = |line: &str| line.match_indices("unsafe {").any(|(at, _)| !line[..at].ends_with('_'));
        for (number, line) in file.code().filter(|(_, line)| is_unsafe(line)) {
            let above = &lines[number.saturating_sub(8)..number];
            if !above.iter().any(|line| line.trim_start().starts_with("// SAFETY: ")) {
                faults.push(format!("{}:{number}: no `SAFETY` above `{}`", file.path, line.trim()));
            }
            if !architecture.contains(&format!("`{}`", file.path)) {
                faults.push(format!("{}: ARCHITECTURE.md does not list its unsafe code", file.path));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn texts_in_tests_are_not_code() {
    let text = [
        "use a;",
        "#[cfg(test)]",
        "use b::{",
        "    c,",
        "};",
        "#[cfg(test)]",
        "mod tests {",
        "    const TEXT: &str = \"{",
        "a: {b: c}",
        "d;",
        "\";",
        "}",
        "// e",
        "fn f() {}",
    ];
    let file = SourceFile { path: String::new(), text: text.join("\n") };
    assert_eq!(file.code().collect::<Vec<_>>(), [(1, "use a;"), (14, "fn f() {}")]);
}

struct SourceFile {
    /// Relative to the root.
    path: String,
    text: String,
}

impl SourceFile {
    /// Whether `super` is the crate: `src/a.rs`, `src/a/mod.rs`.
    fn is_at_the_top(&self) -> bool {
        let below = self.path.rsplit("src/").next().unwrap_or_default();
        !below.trim_end_matches("/mod.rs").contains('/')
    }

    /// Its lines and their numbers, without comments and without the items that are only for tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let (mut is_test, mut is_block) = (false, false);
        let mut is_code = move |line: &str| {
            let was_test = is_test || line == "#[cfg(test)]";
            // A block ends where its brace is: lines of texts in it may begin at the margin, too.
            is_block |= was_test && !line.starts_with([' ', '#', '/']) && line.ends_with('{');
            let ends_item = match is_block {
                true => matches!(line, "}" | "};"),
                false => !line.starts_with([' ', '#']) && line.ends_with([';', '}']),
            };
            is_test = was_test && !ends_item;
            is_block &= is_test;
            !was_test
        };
        let lines = self.text.lines().enumerate().filter(move |(_, line)| is_code(line));
        lines.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(at, line)| (at + 1, line))
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn all_sources() -> Vec<SourceFile> {
    ["src", "crates/yaml/src", "crates/function/src", "crates/engine/src"]
        .into_iter()
        .flat_map(sources)
        .collect()
}

/// Every source file below a folder; files that hold nothing but tests left out.
fn sources(dir: &str) -> Vec<SourceFile> {
    files_named(dir, |name| name.ends_with(".rs") && name != "tests.rs")
}

/// The files below a folder whose names are wanted, in order.
fn files_named(dir: &str, is_wanted: fn(&str) -> bool) -> Vec<SourceFile> {
    let mut paths = Vec::new();
    let mut waiting = vec![root().join(dir)];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            match path.is_dir() {
                true => waiting.push(path),
                false if path.file_name().and_then(|name| name.to_str()).is_some_and(is_wanted) => {
                    paths.push(path);
                }
                false => {}
            }
        }
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| SourceFile {
            text: fs::read_to_string(&path).expect("a readable file"),
            path: path.strip_prefix(root()).expect("found below the root").display().to_string(),
        })
        .collect()
}

/// The module of a library that a file belongs to.
fn module_of(path: &str, library: &str) -> String {
    let rest = path.strip_prefix(library).unwrap_or(path).trim_start_matches('/');
    rest.split('/').next().unwrap_or(rest).trim_end_matches(".rs").to_owned()
}
