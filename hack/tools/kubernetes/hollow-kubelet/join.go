// How does the node get its client certificate, and if it does not, what exactly is wrong?
//
// The kubelet's own bootstrap code waits for a minute and more behind a wrong CA or token and only logs it. Asking
// the API server "who am I?" first turns both into an immediate, named failure.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap"
)

// join returns the client configuration of a node that has (now) a certificate of its own.
func join(ctx context.Context, n *node) (*restclient.Config, error) {
	if n.bootstrapKubeconfig != "" {
		if err := bootstrapCertificate(ctx, n); err != nil {
			return nil, fmt.Errorf("node %q cannot join: %w", n.name, err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", n.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s of node %q cannot be used: %w", n.kubeconfig, n.name, err)
	}
	return config, nil
}

func bootstrapCertificate(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, n.joinWithin)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", n.bootstrapKubeconfig)
	if err != nil {
		return fmt.Errorf("bootstrap kubeconfig %s cannot be used: %w", n.bootstrapKubeconfig, err)
	}
	if err := greet(ctx, n, config); err != nil {
		return err
	}
	err = bootstrap.LoadClientCert(ctx, n.kubeconfig, n.bootstrapKubeconfig, n.certDir, types.NodeName(n.name))
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("its certificate request was not approved and signed within %s: is the group of the token bound to the node client approver role, and is kube-controller-manager running? (%w)", n.joinWithin, err)
	case strings.Contains(err.Error(), "forbidden"):
		return fmt.Errorf("the token is valid but may not request a certificate: bind its group to ClusterRole system:node-bootstrapper (%w)", err)
	default:
		return err
	}
}

// greet asks the API server who we are until it answers, or until the answer can no longer become better.
func greet(ctx context.Context, n *node, config *restclient.Config) error {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("bootstrap kubeconfig %s cannot be used: %w", n.bootstrapKubeconfig, err)
	}
	for {
		_, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil {
			return nil
		}
		if final := verdict(err, config); final != nil {
			return final
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server at %s did not answer within %s (%w)", config.Host, n.joinWithin, err)
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// verdict is nil while trying again can help.
func verdict(err error, config *restclient.Config) error {
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case apierrors.IsUnauthorized(err):
		id, _, _ := strings.Cut(config.BearerToken, ".")
		return fmt.Errorf("the API server at %s does not accept bootstrap token %q: it is wrong, expired, deleted or not for authentication; see Secret kube-system/bootstrap-token-%s (%w)", config.Host, id, id, err)
	case errors.As(err, &unknown), errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of the API server at %s is not trusted by the CA in the bootstrap kubeconfig: wrong CA, or not our API server (%w)", config.Host, err)
	default:
		return nil
	}
}
