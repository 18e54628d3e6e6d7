// Is a process ready to serve?
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"time"
)

// await asks until the answer is 200 or the time is up. It answers nothing when the process died: its death says more.
func (p *probe) await(alive context.Context) (event, bool) {
	within := time.Duration(p.WithinMillis) * time.Millisecond
	ctx, cancel := context.WithTimeout(alive, within)
	defer cancel()
	client, err := p.client()
	if err != nil {
		return event{Event: sayLate, Said: err.Error()}, true
	}
	defer client.CloseIdleConnections()
	for {
		if err = p.ask(ctx, client); err == nil {
			return event{Event: sayReady}, true
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			if alive.Err() != nil {
				return event{}, false
			}
			return event{Event: sayLate, Said: fmt.Sprintf("not ready after %s: %v", within, err)}, true
		}
	}
}

func (p *probe) ask(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", p.URL, answer.Status)
	}
	return nil
}

func (p *probe) client() (*http.Client, error) {
	authority, err := os.ReadFile(p.CA)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	return &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}},
	}, nil
}
