//! Which foreign programs do the tests need, and where are they once built?
//!
//! Each is built from a Go module pinned by `hack/tools/<group>/go.{mod,sum}` into the cache, once until its lock or
//! its sources change. Four entries instead of two: a change in our own Go code must not relink all of Kubernetes.

mod build;
mod cache;
mod go;

use std::path::{Path, PathBuf};

pub use cache::root as cache_root;
pub use go::NoGo;

/// Why a tool is not there. [`Error::NoGo`] is a reason to skip, by name; everything else is a failure.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    NoGo(#[from] NoGo),
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

/// The programs of one control plane and its nodes.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    pub etcd: PathBuf,
    pub kube_apiserver: PathBuf,
    pub kube_controller_manager: PathBuf,
    pub kube_scheduler: PathBuf,
    pub kubectl: PathBuf,
    pub hollow_kubelet: PathBuf,
    pub keeper: PathBuf,
}

/// Everything a cluster needs; builds what is missing and shows progress.
pub fn control_plane() -> Result<ControlPlane, Error> {
    let keeper = tool(&KEEPER)?;
    let etcd = tool(&ETCD)?;
    let kubernetes = tool(&KUBERNETES)?;
    let hollow = tool(&HOLLOW_KUBELET)?;
    Ok(ControlPlane {
        etcd: etcd.join("etcd"),
        kube_apiserver: kubernetes.join("kube-apiserver"),
        kube_controller_manager: kubernetes.join("kube-controller-manager"),
        kube_scheduler: kubernetes.join("kube-scheduler"),
        kubectl: kubernetes.join("kubectl"),
        hollow_kubelet: hollow.join("hollow-kubelet"),
        keeper: keeper.join("keeper"),
    })
}

/// Karpenter's scheduler behind the file format of `joiner plan`, to measure ours against.
pub fn karpenter_schedule() -> Result<PathBuf, Error> {
    Ok(tool(&KARPENTER_SCHEDULE)?.join("karpenter-schedule"))
}

/// One cache entry: binaries that come from one `go build`.
struct Tool {
    name: &'static str,
    /// Folder under `hack/tools` with go.mod and go.sum.
    group: &'static str,
    /// Our own sources inside the group, if any: they count for the hash.
    sources: Option<&'static str>,
    packages: &'static [&'static str],
    binaries: &'static [&'static str],
    stamp: Stamp,
    toolchain: Toolchain,
}

/// Which Go builds it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toolchain {
    /// The one on this machine; what it cannot build is skipped by name.
    Local,
    /// The one its go.mod asks for, fetched like any other module if it is not there.
    Fetched,
}

/// What is linked into the binaries besides the code.
#[derive(Clone, Copy)]
enum Stamp {
    Nothing,
    /// Without it every Kubernetes binary calls itself `v0.0.0-master`, and version skew checks complain.
    KubernetesVersion,
}

const ETCD: Tool = Tool {
    name: "etcd",
    group: "etcd",
    sources: None,
    packages: &["go.etcd.io/etcd/server/v3"],
    binaries: &["etcd"],
    stamp: Stamp::Nothing,
    toolchain: Toolchain::Local,
};

const KUBERNETES: Tool = Tool {
    name: "kubernetes",
    group: "kubernetes",
    sources: None,
    packages: &[
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
        "k8s.io/kubernetes/cmd/kubectl",
    ],
    binaries: &[
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubectl",
    ],
    stamp: Stamp::KubernetesVersion,
    toolchain: Toolchain::Local,
};

const HOLLOW_KUBELET: Tool = Tool {
    name: "hollow-kubelet",
    group: "kubernetes",
    sources: Some("hollow-kubelet"),
    packages: &["./hollow-kubelet"],
    binaries: &["hollow-kubelet"],
    stamp: Stamp::KubernetesVersion,
    toolchain: Toolchain::Local,
};

const KEEPER: Tool = Tool {
    name: "keeper",
    group: "kubernetes",
    sources: Some("keeper"),
    packages: &["./keeper"],
    binaries: &["keeper"],
    stamp: Stamp::Nothing,
    toolchain: Toolchain::Local,
};

const KARPENTER_SCHEDULE: Tool = Tool {
    name: "karpenter-schedule",
    group: "karpenter/schedule",
    sources: Some("."),
    packages: &["."],
    binaries: &["karpenter-schedule"],
    stamp: Stamp::Nothing,
    toolchain: Toolchain::Fetched,
};

impl Tool {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tools")
            .join(self.group)
    }
}

fn tool(tool: &Tool) -> Result<PathBuf, Error> {
    let files = cache::inputs(&tool.folder(), tool.sources)?;
    let home = cache::root()?.join(tool.name);
    let entry = home.join(cache::hash(&files, tool.packages));
    // Asked before the toolchain: a filled cache needs no Go.
    if cache::is_whole(&entry, tool.binaries) {
        return Ok(entry);
    }
    let go = go::find(&tool.folder(), tool.toolchain)?;
    cache::fill(&entry, tool.binaries, |into| build::run(&go, tool, into))?;
    Ok(entry)
}
