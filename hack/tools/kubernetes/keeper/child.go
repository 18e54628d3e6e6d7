// How does one process start, and how does it end?
package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

type child struct {
	cmd  *exec.Cmd
	gone chan struct{}
}

// start must be called on the main thread (see init in main.go).
func start(o order, reports chan<- report) (*child, error) {
	if len(o.Argv) == 0 {
		return nil, errors.New("has no command")
	}
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = os.Environ()
	for key, value := range o.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}

	c := &child{cmd: cmd, gone: make(chan struct{})}
	alive, died := context.WithCancel(context.Background())
	tell := func(e event) { reports <- report{name: o.Name, from: c, event: e} }
	go func() {
		_ = cmd.Wait()
		died()
		close(c.gone)
		tell(event{Event: sayExited, Name: o.Name, Said: cmd.ProcessState.String()})
	}()
	if o.Ready != nil {
		go func() {
			if e, ok := o.Ready.await(alive); ok {
				e.Name = o.Name
				tell(e)
			}
		}()
	}
	return c, nil
}

func (c *child) stop(grace time.Duration) {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	go func() {
		select {
		case <-c.gone:
		case <-time.After(grace):
			c.kill()
		}
	}()
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill()
}
