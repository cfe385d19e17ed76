// Package krm builds Kubernetes configuration as krm does: kustomizations and Compositions, byte for byte what
// `kustomize build` prints.
//
// The engine is a WebAssembly module inside this package, run by wazero: there is no cgo and no program to install. It
// reads files only through the fs.FS that it is given, starts no program and makes no connection; a build that would have
// to is an error.
package krm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// Result is what a build gives.
type Result struct {
	// YAML holds all resources, as `krm build` prints them.
	YAML []byte
	// Objects holds the same as data, if asked for by WithObjects.
	Objects []map[string]any
	// Warnings say what is probably not meant.
	Warnings []Diagnostic
}

// Diagnostic is an error or a warning, with its place and advice.
type Diagnostic struct {
	Severity string   `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Place    *Place   `json:"place,omitempty"`
	Help     []string `json:"help,omitempty"`
	// Text is what a terminal would show: the line with carets under it, notes and advice.
	Text string `json:"text"`
}

// Place is a part of a file. Lines and columns are counted from 1.
type Place struct {
	File      string `json:"file"`
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	EndLine   int    `json:"endLine"`
	EndColumn int    `json:"endColumn"`
}

// Error is everything that is wrong with the input. It is what Build and Explain return unless the engine itself fails.
type Error struct {
	Diagnostics []Diagnostic
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		lines[i] = d.Message
		if d.Place != nil {
			lines[i] = fmt.Sprintf("%s:%d:%d: %s", d.Place.File, d.Place.Line, d.Place.Column, d.Message)
		}
	}
	return strings.Join(lines, "\n")
}

// History says where a value comes from.
type History struct {
	// Text is what `krm explain` prints.
	Text string `json:"text"`
	// Field is the field that is explained; empty for a resource as a whole.
	Field string `json:"field"`
	// Value is what it is in the result.
	Value any `json:"value"`
	// Events are what happened to it, the first first.
	Events []Event `json:"history"`
}

// Event is one thing that happened to a value.
type Event struct {
	Event  string `json:"event"`
	Before any    `json:"before"`
	After  any    `json:"after"`
	Place  *Place `json:"place,omitempty"`
	Label  string `json:"label"`
	Layer  string `json:"layer"`
	// Decides is set on the event that made the value what it is.
	Decides bool `json:"decides"`
}

type options struct {
	Unrestricted bool   `json:"unrestricted,omitempty"`
	KeepOrder    bool   `json:"keepOrder,omitempty"`
	ManagedBy    bool   `json:"enableManagedbyLabel,omitempty"`
	KubeVersion  string `json:"kubeVersion,omitempty"`
	objects      bool
}

// Option changes how a build works.
type Option func(*options)

// WithUnrestrictedLoads lets a kustomization name files outside its folder, as `--load-restrictor LoadRestrictionsNone`.
func WithUnrestrictedLoads() Option { return func(o *options) { o.Unrestricted = true } }

// WithInputOrder keeps resources in the order in which they were read, as `--reorder none`.
func WithInputOrder() Option { return func(o *options) { o.KeepOrder = true } }

// WithManagedByLabel labels every resource, as `--enable-managedby-label`.
func WithManagedByLabel() Option { return func(o *options) { o.ManagedBy = true } }

// WithKubeVersion names the version of Kubernetes whose types patches are merged by: "1.21" or "1.37".
func WithKubeVersion(version string) Option { return func(o *options) { o.KubeVersion = version } }

// WithObjects gives the resources as data, too.
func WithObjects() Option { return func(o *options) { o.objects = true } }

// Build builds a folder of a file system with the engine that the whole program shares.
func Build(fsys fs.FS, target string, opts ...Option) (*Result, error) {
	engine, err := shared()
	if err != nil {
		return nil, err
	}
	return engine.Build(context.Background(), fsys, target, opts...)
}

// Explain says where a field of a resource comes from, with the engine that the whole program shares. A resource is named
// "Kind/name", a field as in `krm explain`; an empty field means the resource as a whole.
func Explain(fsys fs.FS, target, resource, field string, opts ...Option) ([]History, error) {
	engine, err := shared()
	if err != nil {
		return nil, err
	}
	return engine.Explain(context.Background(), fsys, target, resource, field, opts...)
}

var shared = sync.OnceValues(func() (*Engine, error) { return New(context.Background()) })

// Build builds a folder of a file system.
func (e *Engine) Build(ctx context.Context, fsys fs.FS, target string, opts ...Option) (*Result, error) {
	how := chosen(opts)
	var answer struct {
		Output   string           `json:"output"`
		Objects  []map[string]any `json:"objects"`
		Warnings []Diagnostic     `json:"warnings"`
		Errors   []Diagnostic     `json:"errors"`
	}
	question := map[string]any{"ask": "build", "target": target, "options": how, "objects": how.objects}
	if err := e.ask(ctx, fsys, question, &answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, &Error{answer.Errors}
	}
	return &Result{YAML: []byte(answer.Output), Objects: answer.Objects, Warnings: answer.Warnings}, nil
}

// Explain says where a field of a resource comes from.
func (e *Engine) Explain(
	ctx context.Context, fsys fs.FS, target, resource, field string, opts ...Option,
) ([]History, error) {
	var answer struct {
		Histories []History    `json:"histories"`
		Errors    []Diagnostic `json:"errors"`
	}
	question := map[string]any{"ask": "explain", "target": target, "resource": resource, "options": chosen(opts)}
	if field != "" {
		question["field"] = field
	}
	if err := e.ask(ctx, fsys, question, &answer); err != nil {
		return nil, err
	}
	if len(answer.Errors) > 0 {
		return nil, &Error{answer.Errors}
	}
	return answer.Histories, nil
}

func chosen(opts []Option) *options {
	how := new(options)
	for _, opt := range opts {
		opt(how)
	}
	return how
}

func (e *Engine) ask(ctx context.Context, fsys fs.FS, question, answer any) error {
	if fsys == nil {
		return errors.New("krm: no file system")
	}
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	reply, err := e.call(ctx, fsys, text)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("krm: the engine's answer: %w", err)
	}
	return nil
}
