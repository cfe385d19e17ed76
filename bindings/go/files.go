package krm

import (
	"bytes"
	"context"
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// opened is what the engine asked for last, on its way into the engine's memory.
type opened struct {
	fsys  fs.FS
	bytes []byte
}

type openedKey struct{}

func withFiles(ctx context.Context, fsys fs.FS) context.Context {
	return context.WithValue(ctx, openedKey{}, &opened{fsys: fsys})
}

// What a path is, as the engine counts it.
const (
	other  = 0
	file   = 1
	folder = 2
)

// provideFiles gives the engine the four functions by which it reads files.
func provideFiles(ctx context.Context, runtime wazero.Runtime) error {
	host := runtime.NewHostModuleBuilder("krm")
	host.NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, at, length uint32) int32 {
		state, path := asked(ctx, m, at, length)
		info, err := fs.Stat(state.fsys, path)
		switch {
		case err != nil:
			return other
		case info.IsDir():
			return folder
		case info.Mode().IsRegular():
			return file
		}
		return other
	}).Export("kind")
	host.NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, at, length uint32) int64 {
		state, path := asked(ctx, m, at, length)
		content, err := fs.ReadFile(state.fsys, path)
		return state.open(content, err)
	}).Export("read")
	host.NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, at, length uint32) int64 {
		state, path := asked(ctx, m, at, length)
		entries, err := fs.ReadDir(state.fsys, path)
		var lines bytes.Buffer
		for _, entry := range entries {
			kind := "f "
			if entry.IsDir() {
				kind = "d "
			}
			lines.WriteString(kind + entry.Name() + "\n")
		}
		return state.open(lines.Bytes(), err)
	}).Export("list")
	host.NewFunctionBuilder().WithFunc(func(ctx context.Context, m api.Module, at uint32) {
		state := ctx.Value(openedKey{}).(*opened)
		m.Memory().Write(at, state.bytes)
		state.bytes = nil
	}).Export("take")
	_, err := host.Instantiate(ctx)
	return err
}

func (o *opened) open(content []byte, err error) int64 {
	if err != nil {
		return -1
	}
	o.bytes = content
	return int64(len(content))
}

// asked is the path that the engine asks for, as fs.FS wants it: relative to the root, "." for the root itself.
func asked(ctx context.Context, m api.Module, at, length uint32) (*opened, string) {
	state := ctx.Value(openedKey{}).(*opened)
	view, ok := m.Memory().Read(at, length)
	if !ok {
		return state, ""
	}
	path := strings.TrimPrefix(string(view), "/")
	if path == "" {
		path = "."
	}
	return state, path
}
