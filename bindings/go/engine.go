package krm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"io/fs"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The engine, compiled by ./build.
//
//go:embed krm.wasm
var module []byte

// Engine is the compiled module and its idle instances. It may be used by many goroutines at once: each call has an
// instance of its own.
type Engine struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	mutex    sync.Mutex
	idle     []api.Module
}

// mostIdle is how many instances are kept for the next call; each holds the memory of the largest build it made.
const mostIdle = 8

// New compiles the engine. Compiling takes some seconds; WithCompilationCache of wazero, given by NewWithConfig, keeps
// the result on disk.
func New(ctx context.Context) (*Engine, error) {
	return NewWithConfig(ctx, wazero.NewRuntimeConfig())
}

// NewWithConfig compiles the engine with a configuration of wazero's: a cache of compiled modules, or a limit of memory.
func NewWithConfig(ctx context.Context, config wazero.RuntimeConfig) (*Engine, error) {
	runtime := wazero.NewRuntimeWithConfig(ctx, config.WithCloseOnContextDone(true))
	if err := provideFiles(ctx, runtime); err != nil {
		return nil, errors.Join(err, runtime.Close(ctx))
	}
	compiled, err := runtime.CompileModule(ctx, module)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("krm: compile the engine: %w", err), runtime.Close(ctx))
	}
	return &Engine{runtime: runtime, compiled: compiled}, nil
}

// Close frees the engine. No call may be running.
func (e *Engine) Close(ctx context.Context) error {
	return e.runtime.Close(ctx)
}

func (e *Engine) instance(ctx context.Context) (api.Module, error) {
	e.mutex.Lock()
	if last := len(e.idle) - 1; last >= 0 {
		instance := e.idle[last]
		e.idle = e.idle[:last]
		e.mutex.Unlock()
		return instance, nil
	}
	e.mutex.Unlock()
	return e.runtime.InstantiateModule(ctx, e.compiled, wazero.NewModuleConfig().WithName(""))
}

func (e *Engine) giveBack(instance api.Module) {
	e.mutex.Lock()
	keep := len(e.idle) < mostIdle
	if keep {
		e.idle = append(e.idle, instance)
	}
	e.mutex.Unlock()
	if !keep {
		_ = instance.Close(context.Background())
	}
}

// call gives the engine a question and returns its answer. An instance that failed is not used again.
func (e *Engine) call(ctx context.Context, fsys fs.FS, question []byte) ([]byte, error) {
	instance, err := e.instance(ctx)
	if err != nil {
		return nil, fmt.Errorf("krm: start the engine: %w", err)
	}
	answer, err := converse(withFiles(ctx, fsys), instance, question)
	if err != nil {
		_ = instance.Close(context.Background())
		return nil, fmt.Errorf("krm: %w", err)
	}
	e.giveBack(instance)
	return answer, nil
}

func converse(ctx context.Context, instance api.Module, question []byte) ([]byte, error) {
	room, err := instance.ExportedFunction("krm_allocate").Call(ctx, uint64(len(question)))
	if err != nil {
		return nil, err
	}
	if !instance.Memory().Write(uint32(room[0]), question) {
		return nil, errors.New("the engine gave room outside its memory")
	}
	packed, err := instance.ExportedFunction("krm_answer").Call(ctx, room[0], uint64(len(question)))
	if err != nil {
		return nil, err
	}
	address, length := packed[0]>>32, packed[0]&0xffffffff
	view, ok := instance.Memory().Read(uint32(address), uint32(length))
	if !ok {
		return nil, errors.New("the engine's answer is outside its memory")
	}
	answer := append([]byte(nil), view...)
	if _, err := instance.ExportedFunction("krm_free").Call(ctx, address, length); err != nil {
		return nil, err
	}
	return answer, nil
}
