// Pins the release whose CRDs ours are compared with (crds/tests/upstream.rs). Nothing is built from it.
module joiner.dev/hack/tools/karpenter

go 1.26

require sigs.k8s.io/karpenter v1.15.0
