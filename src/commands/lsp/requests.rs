//! The questions of an editor.

use std::path::PathBuf;
use std::sync::Arc;

use krm_engine::Diagnostic;
use krm_engine::cfg::comment_places;
use krm_engine::editor::{Completion, CompletionKind, Completions, Editor, FileSpan, Problem, Symbol};
use serde_json::{Value, json};

use super::positions::{Lines, Position, Range};
use super::protocol as p;
use super::server::{Answer, Converter, Refused, Server, read};
use super::uri;
use super::wire::Fault;
use crate::commands::cfg::fmt::formatted;

/// A position in a file, looked up.
struct Asked {
    editor: usize,
    path: PathBuf,
    text: Arc<str>,
    offset: usize,
}

/// Texts to write at places.
type Edits = Vec<(FileSpan, String)>;

impl Server {
    /// Answers a request of a running server; `None` if there is no such method.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Option<Answer> {
        Some(match method {
            "textDocument/hover" => read(params).and_then(|params| self.hover(&params)),
            "textDocument/completion" => read(params).and_then(|params| self.completion(&params)),
            "textDocument/definition" | "textDocument/declaration" => {
                read(params).and_then(|params| self.definition(&params))
            }
            "textDocument/references" => read(params).and_then(|params| self.references(&params)),
            "textDocument/prepareRename" => read(params).and_then(|params| self.prepare_rename(&params)),
            "textDocument/rename" => read(params).and_then(|params| self.rename(&params)),
            "textDocument/codeAction" => read(params).and_then(|params| self.code_actions(&params)),
            "textDocument/diagnostic" => read(params).and_then(|params| self.pull(&params)),
            "textDocument/documentSymbol" => read(params).and_then(|params| self.symbols(&params)),
            "textDocument/documentLink" => read(params).and_then(|params| self.links(&params)),
            "textDocument/foldingRange" => read(params).and_then(|params| self.folds(&params)),
            "textDocument/inlayHint" => read(params).and_then(|params| self.hints(&params)),
            "textDocument/codeLens" => read(params).and_then(|params| self.lenses(&params)),
            "workspace/executeCommand" => read(params).and_then(|params| self.execute(&params)),
            "textDocument/formatting" => read(params).and_then(|params| self.format(&params)),
            "workspace/symbol" => read(params).and_then(|params| self.find_symbols(&params)),
            "workspace/willRenameFiles" => read(params).and_then(|params| self.moved(&params)),
            _ => return None,
        })
    }

    fn asked(&self, uri: &str, position: Position) -> Option<Asked> {
        let (editor, path) = self.file(uri)?;
        let text = self.folders[editor].text(&path)?;
        let offset = Lines::new(&text, self.encoding).offset(position);
        Some(Asked { editor, path, text, offset })
    }

    /// The folder that answers for a file: the innermost that holds it.
    fn file(&self, uri: &str) -> Option<(usize, PathBuf)> {
        let path = uri::path(uri)?;
        let holds = |editor: &Editor| editor.place(&path).starts_with(editor.root());
        let folders = self.folders.iter().enumerate().filter(|(_, editor)| holds(editor));
        let innermost = folders.max_by_key(|(_, editor)| editor.root().as_os_str().len());
        Some((innermost.map(|(at, _)| at)?, path))
    }

    fn hover(&mut self, params: &p::AtPosition) -> Answer {
        let Some(asked) = self.asked(&params.text_document.uri, params.position) else {
            return Ok(Value::Null);
        };
        let Some(hover) = self.folders[asked.editor].hover(&asked.path, asked.offset) else {
            return Ok(Value::Null);
        };
        let range = Lines::new(&asked.text, self.encoding).range(hover.place.span.range());
        Ok(json!({"contents": {"kind": "markdown", "value": hover.text}, "range": range}))
    }

    /// Above a kustomization: how many roots it is part of. Only for those who ask for it when the server starts.
    fn lenses(&mut self, params: &p::OfDocument) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri).filter(|_| self.wishes.shows_usage)
        else {
            return Ok(json!([]));
        };
        let Some(usage) = self.folders[editor].usage(&path) else { return Ok(json!([])) };
        let count = usage.roots.len();
        let title = format!("used by {count} root{}", if count == 1 { "" } else { "s" });
        let range = Converter::new(self).location(&usage.place).range;
        let preview = json!({"title": title, "command": p::PREVIEW, "arguments": [params.text_document.uri]});
        Ok(json!([{"range": range, "command": preview}]))
    }

    /// What a command gives: the result of a build, or how a value came about.
    fn execute(&mut self, params: &p::ExecuteCommand) -> Answer {
        let uri = params.arguments.first().and_then(Value::as_str).unwrap_or_default().to_owned();
        match params.command.as_str() {
            p::PREVIEW => {
                let Some((editor, path)) = self.file(&uri) else { return Ok(Value::Null) };
                match self.folders[editor].preview(&path) {
                    None => Ok(Value::Null),
                    Some(Ok(text)) => Ok(text.into()),
                    Some(Err(error)) => Err(Refused(Fault::Failed, error.message().to_owned())),
                }
            }
            p::EXPLAIN => {
                let position = params.arguments.get(1).cloned().unwrap_or_default();
                let at = json!({"textDocument": {"uri": uri}, "position": position});
                let hover = read(at).and_then(|params| self.hover(&params))?;
                Ok(hover.pointer("/contents/value").cloned().unwrap_or_default())
            }
            other => Err(Refused(Fault::InvalidParams, format!("there is no command `{other}`"))),
        }
    }

    fn completion(&mut self, params: &p::AtPosition) -> Answer {
        let Some(asked) = self.asked(&params.text_document.uri, params.position) else {
            return Ok(Value::Null);
        };
        let Completions { replace, items } = self.folders[asked.editor].complete(&asked.path, asked.offset);
        let range = Lines::new(&asked.text, self.encoding).range(replace);
        // What is in a folder is known when its name is written.
        let is_incomplete = items.iter().any(|item| item.kind == CompletionKind::Folder);
        let items: Vec<Value> =
            items.iter().enumerate().map(|(at, item)| completion(item, at, range)).collect();
        Ok(json!({"isIncomplete": is_incomplete, "items": items}))
    }

    fn definition(&mut self, params: &p::AtPosition) -> Answer {
        let Some(asked) = self.asked(&params.text_document.uri, params.position) else {
            return Ok(Value::Null);
        };
        let places = self.folders[asked.editor].definition(&asked.path, asked.offset);
        Ok(self.locations(&places))
    }

    fn references(&mut self, params: &p::References) -> Answer {
        let Some(asked) = self.asked(&params.text_document.uri, params.position) else {
            return Ok(Value::Null);
        };
        let with_definition = params.context.include_declaration;
        let places = self.folders[asked.editor].references(&asked.path, asked.offset, with_definition);
        Ok(self.locations(&places))
    }

    fn locations(&self, places: &[FileSpan]) -> Value {
        let converter = Converter::new(self);
        json!(places.iter().map(|place| converter.location(place)).collect::<Vec<_>>())
    }

    fn prepare_rename(&mut self, params: &p::AtPosition) -> Answer {
        let Some(asked) = self.asked(&params.text_document.uri, params.position) else {
            return Ok(Value::Null);
        };
        let Some((place, name)) = self.folders[asked.editor].renamable(&asked.path, asked.offset) else {
            return Ok(Value::Null);
        };
        let range = Lines::new(&asked.text, self.encoding).range(place.span.range());
        Ok(json!({"range": range, "placeholder": name}))
    }

    fn rename(&mut self, params: &p::RenameParams) -> Answer {
        let Some(asked) = self.asked(&params.text_document.uri, params.position) else {
            return Ok(Value::Null);
        };
        let edits = self.folders[asked.editor].rename(&asked.path, asked.offset, &params.new_name);
        let edits = edits.map_err(|error| Refused(Fault::Failed, explained(&error)))?;
        Ok(self.workspace_edit(&edits))
    }

    fn moved(&mut self, params: &p::RenameFiles) -> Answer {
        let mut edits: Edits = Vec::new();
        for file in &params.files {
            let (Some((editor, from)), Some(to)) = (self.file(&file.old_uri), uri::path(&file.new_uri))
            else {
                continue;
            };
            // A move that cannot be followed is the user's to make all the same.
            edits.extend(self.folders[editor].moved(&from, &to).unwrap_or_default());
        }
        match edits.is_empty() {
            true => Ok(Value::Null),
            false => Ok(self.workspace_edit(&edits)),
        }
    }

    fn workspace_edit(&self, edits: &Edits) -> Value {
        let converter = Converter::new(self);
        let mut files: Vec<(String, Option<i64>, Vec<Value>)> = Vec::new();
        for (place, text) in edits {
            let (uri, version) = self.address(&place.path);
            let edit = json!({"range": converter.range(place), "newText": text});
            match files.iter_mut().find(|(known, ..)| *known == uri) {
                Some((_, _, of_file)) => of_file.push(edit),
                None => files.push((uri, version, vec![edit])),
            }
        }
        match self.takes_document_changes {
            true => {
                let changes = files.into_iter().map(|(uri, version, edits)| {
                    json!({"textDocument": {"uri": uri, "version": version}, "edits": edits})
                });
                json!({"documentChanges": changes.collect::<Vec<_>>()})
            }
            false => {
                let changes = files.into_iter().map(|(uri, _, edits)| (uri, Value::Array(edits)));
                json!({"changes": changes.collect::<serde_json::Map<_, _>>()})
            }
        }
    }

    fn code_actions(&mut self, params: &p::CodeActionParams) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri) else { return Ok(Value::Null) };
        let path = self.folders[editor].place(&path);
        let problems: Vec<Problem> = self.folders[editor].problems().get(&path).cloned().unwrap_or_default();
        let extracted = self.extraction(&params.text_document.uri, params.range.start);
        let inlined = self.inlining(&params.text_document.uri, params.range.start);
        let wants = |kind: &str| {
            let only = params.context.only.as_ref();
            only.is_none_or(|only| {
                only.iter().any(|wanted| kind == wanted || kind.starts_with(&format!("{wanted}.")))
            })
        };
        let converter = Converter::new(self);
        let mut actions: Vec<Value> = extracted.into_iter().filter(|_| wants("refactor.extract")).collect();
        actions.extend(inlined.filter(|_| wants("refactor.inline")));
        for problem in problems.iter().filter(|_| wants("quickfix")) {
            let range = converter.range(&problem.place);
            if range.end < params.range.start || params.range.end < range.start {
                continue;
            }
            for fix in &problem.fixes {
                actions.push(json!({
                    "title": fix.message,
                    "kind": "quickfix",
                    "diagnostics": [converter.problem(problem)],
                    "isPreferred": fix.is_safe && problem.fixes.len() == 1,
                    "edit": self.workspace_edit(&fix.edits),
                }));
            }
        }
        let all = safe_fixes(&problems);
        // Asked for by name when files are saved; otherwise offered beside others of its kind.
        if wants("source.fixAll.krm") && !all.is_empty() && params.context.only.is_some() {
            actions.push(json!({
                "title": "Apply all safe fixes",
                "kind": "source.fixAll.krm",
                "edit": self.workspace_edit(&all),
            }));
        }
        Ok(json!(actions))
    }

    /// The action that makes a file of the entry at a position.
    fn extraction(&mut self, uri: &str, position: Position) -> Option<Value> {
        let asked = self.asked(uri, position).filter(|_| self.makes_files)?;
        let found = self.folders[asked.editor].extraction(&asked.path, asked.offset)?;
        let new = uri::of(&found.path);
        let start = Range::default();
        let mut edit = self.workspace_edit(&found.edits);
        let changes = edit["documentChanges"].as_array_mut()?;
        changes.insert(0, json!({"kind": "create", "uri": new}));
        let text = json!([{"range": start, "newText": found.text}]);
        changes.insert(1, json!({"textDocument": {"uri": new, "version": null}, "edits": text}));
        Some(json!({
            "title": format!("Move `{}` to a file", found.entry),
            "kind": "refactor.extract",
            "edit": edit,
        }))
    }

    /// The action that writes the patch of a file into the entry at a position. The file stays: others may use it.
    fn inlining(&mut self, uri: &str, position: Position) -> Option<Value> {
        let asked = self.asked(uri, position)?;
        let found = self.folders[asked.editor].inlining(&asked.path, asked.offset)?;
        Some(json!({
            "title": format!("Write the patch of `{}` here", found.file),
            "kind": "refactor.inline",
            "edit": self.workspace_edit(&found.edits),
        }))
    }

    /// The problems of a document, for a client that asks for them.
    fn pull(&mut self, params: &p::OfDocument) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri) else {
            return Ok(json!({"kind": "full", "items": []}));
        };
        // There is no second answer with what takes longer to find.
        self.folders[editor].finish();
        let path = self.folders[editor].place(&path);
        let problems = self.folders[editor].problems().get(&path).cloned().unwrap_or_default();
        let converter = Converter::new(self);
        let items: Vec<p::Diagnostic> = problems.iter().map(|problem| converter.problem(problem)).collect();
        Ok(json!({"kind": "full", "items": items}))
    }

    fn symbols(&mut self, params: &p::OfDocument) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri) else { return Ok(Value::Null) };
        let symbols = self.folders[editor].symbols(&path);
        let converter = Converter::new(self);
        Ok(json!(symbols.iter().map(|symbol| document_symbol(symbol, &converter)).collect::<Vec<_>>()))
    }

    /// Of files that are not ours the editor knows as much as we do.
    fn folds(&mut self, params: &p::OfDocument) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri) else { return Ok(Value::Null) };
        let Some(folds) = self.folders[editor].folds(&path) else { return Ok(Value::Null) };
        let converter = Converter::new(self);
        let folds = folds
            .iter()
            .map(|place| converter.range(place))
            .map(|range| json!({"startLine": range.start.line, "endLine": range.end.line}));
        Ok(json!(folds.collect::<Vec<_>>()))
    }

    /// After a position in a JSON patch, the name of the element it means. Only for those who ask for it when the server starts.
    fn hints(&mut self, params: &p::InRange) -> Answer {
        let file = self.file(&params.text_document.uri).filter(|_| self.wishes.shows_hints);
        let Some((editor, path)) = file else { return Ok(json!([])) };
        let hints = self.folders[editor].hints(&path);
        let converter = Converter::new(self);
        let hints = hints.iter().map(|hint| (hint, converter.range(&hint.place).end));
        let shown = hints.filter(|(_, end)| params.range.start <= *end && *end <= params.range.end);
        let shown = shown.map(|(hint, end)| {
            json!({"position": end, "label": hint.text, "tooltip": hint.description, "paddingLeft": true})
        });
        Ok(json!(shown.collect::<Vec<_>>()))
    }

    /// As `krm cfg fmt` would.
    fn format(&mut self, params: &p::OfDocument) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri) else { return Ok(Value::Null) };
        let Some(text) = self.folders[editor].text(&path).filter(|_| self.folders[editor].is_ours(&path))
        else {
            return Ok(Value::Null);
        };
        let formatted = krm_yaml::parse_str(&text).and_then(|documents| formatted(&documents));
        // What cannot be read stays as it is; the diagnostics say why.
        let Ok(formatted) = formatted else { return Ok(Value::Null) };
        if *formatted == *text || comment_places::differ_alone(&text, &formatted) {
            return Ok(json!([]));
        }
        let range = Lines::new(&text, self.encoding).range(0..text.len());
        Ok(json!([{"range": range, "newText": formatted}]))
    }

    fn find_symbols(&mut self, params: &p::Query) -> Answer {
        let found: Vec<Symbol> =
            self.folders.iter_mut().flat_map(|editor| editor.find_symbols(&params.query)).collect();
        let converter = Converter::new(self);
        let symbols = found.iter().map(|symbol| {
            json!({
                "name": symbol.name,
                "kind": symbol_kind(symbol),
                "containerName": symbol.detail,
                "location": converter.location(&symbol.whole),
            })
        });
        Ok(json!(symbols.collect::<Vec<_>>()))
    }

    fn links(&mut self, params: &p::OfDocument) -> Answer {
        let Some((editor, path)) = self.file(&params.text_document.uri) else { return Ok(Value::Null) };
        let links = self.folders[editor].links(&path);
        let converter = Converter::new(self);
        let links = links
            .iter()
            .map(|link| json!({"range": converter.range(&link.from), "target": self.address(&link.to).0}));
        Ok(json!(links.collect::<Vec<_>>()))
    }
}

/// The edits of all safe fixes that do not get into each other's way.
fn safe_fixes(problems: &[Problem]) -> Edits {
    let mut edits: Edits = Vec::new();
    for fix in problems.iter().flat_map(|problem| &problem.fixes).filter(|fix| fix.is_safe) {
        let overlaps = |(place, _): &(FileSpan, String)| {
            edits.iter().any(|(other, _)| {
                let (a, b) = (place.span, other.span);
                place.path == other.path && a.start <= b.end && b.start <= a.end
            })
        };
        if !fix.edits.iter().any(overlaps) {
            edits.extend(fix.edits.iter().cloned());
        }
    }
    edits
}

fn explained(error: &Diagnostic) -> String {
    let advice = error.advice().iter().map(|help| format!("\n{help}"));
    format!("{}{}", error.message(), advice.collect::<String>())
}

fn completion(item: &Completion, at: usize, range: Range) -> Value {
    let kind = match item.kind {
        CompletionKind::Field => 5,
        CompletionKind::ResourceKind => 7,
        CompletionKind::FieldPath => 10,
        CompletionKind::Value | CompletionKind::Image => 12,
        CompletionKind::File => 17,
        CompletionKind::Resource => 18,
        CompletionKind::Folder => 19,
    };
    let mut value = json!({
        "label": item.label,
        "kind": kind,
        "sortText": format!("{at:05}"),
        "filterText": item.label,
        "textEdit": {"range": range, "newText": item.text},
    });
    if !item.detail.is_empty() {
        value["detail"] = json!(item.detail);
    }
    if !item.description.is_empty() {
        value["documentation"] = json!({"kind": "markdown", "value": item.description});
    }
    value
}

fn document_symbol<'a>(symbol: &'a Symbol, converter: &Converter<'a>) -> Value {
    let chosen = converter.range_of(&symbol.whole, symbol.chosen);
    let within: Vec<Value> = symbol.within.iter().map(|symbol| document_symbol(symbol, converter)).collect();
    json!({
        "name": symbol.name,
        "detail": symbol.detail,
        "kind": symbol_kind(symbol),
        "range": converter.range(&symbol.whole),
        "selectionRange": chosen,
        "children": within,
    })
}

/// An object, or a field.
fn symbol_kind(symbol: &Symbol) -> u8 {
    if symbol.is_resource { 19 } else { 8 }
}
