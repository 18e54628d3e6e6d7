//! How much does a pod ask for, once its init containers, sidecars and overhead are counted as kube-scheduler counts them?

use crate::resources::{ResourceName, Resources};

/// The requests written in a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRequests {
    pub containers: Vec<Resources>,
    /// In order, with whether it keeps running beside the containers (a sidecar).
    pub init: Vec<(Resources, bool)>,
    /// `spec.resources.requests`: takes the place of the sum for the resources it names.
    pub pod_level: Resources,
    /// Of the runtime class.
    pub overhead: Resources,
}

/// The most the pod needs at any time.
pub fn effective(pod: &PodRequests) -> Resources {
    let mut sidecars = Resources::new();
    let mut peak = Resources::new();
    for (requests, keeps_running) in &pod.init {
        let at_start = requests.plus(&sidecars);
        if *keeps_running {
            sidecars = at_start.clone();
        }
        peak = peak.larger(&at_start);
    }
    let running = pod
        .containers
        .iter()
        .fold(sidecars, |sum, container| sum.plus(container));
    let mut total = running.larger(&peak);
    for (name, amount) in pod
        .pod_level
        .iter()
        .filter(|(name, _)| counts_for_the_pod(name))
    {
        total.set(name.clone(), amount);
    }
    total.plus(&pod.overhead)
}

/// Kubernetes accepts these on the pod as a whole.
fn counts_for_the_pod(name: &ResourceName) -> bool {
    matches!(name, ResourceName::Cpu | ResourceName::Memory)
        || name.as_str().starts_with("hugepages-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn cpu(cores: &str) -> Resources {
        Resources::parse([("cpu", cores)]).unwrap()
    }

    /// `1 2` containers, `init 5`, `side 1`, `pod 3`, `over 1`, in this order of words.
    fn asks(text: &str) -> String {
        let mut pod = PodRequests::default();
        for part in text.split(", ") {
            let (kind, cores) = part.split_once(' ').unwrap();
            match kind {
                "run" => pod.containers.push(cpu(cores)),
                "init" => pod.init.push((cpu(cores), false)),
                "side" => pod.init.push((cpu(cores), true)),
                "pod" => pod.pod_level = cpu(cores),
                _ => pod.overhead = cpu(cores),
            }
        }
        effective(&pod).to_string()
    }

    #[rstest]
    #[case("run 1, run 2", "cpu=3")]
    #[case("run 1, init 5", "cpu=5")]
    #[case("run 6, init 5", "cpu=6")]
    #[case("run 1, side 1", "cpu=2")]
    #[case("run 1, side 1, init 5", "cpu=6")]
    #[case("run 1, init 5, side 1", "cpu=5")]
    #[case("run 1, side 1, side 2", "cpu=4")]
    #[case("run 1, run 1, pod 5", "cpu=5")]
    #[case("run 1, over 250m", "cpu=1250m")]
    #[case("run 1, init 5, over 1", "cpu=6")]
    #[case("init 2, init 5, init 3, run 1", "cpu=5")]
    #[case("side 1, init 1, side 2, init 4, run 2", "cpu=7")]
    #[case("side 4, init 2, run 2", "cpu=6")]
    #[case("side 4, init 2, run 1, side 1", "cpu=6")]
    #[case("init 10, side 1, run 2", "cpu=10")]
    #[case("run 1, init 9, pod 3", "cpu=3")]
    #[case("run 1, pod 3, over 1", "cpu=4")]
    #[case("run 0", "cpu=0")]
    fn a_pod_asks_for_its_peak(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(asks(text), expected);
    }

    #[test]
    fn only_cpu_memory_and_huge_pages_count_for_the_pod_as_a_whole() {
        let gpu = Resources::new().with("example.com/gpu".into(), 4);
        assert_eq!(
            effective(&PodRequests {
                pod_level: gpu,
                ..PodRequests::default()
            })
            .to_string(),
            ""
        );
    }
}
