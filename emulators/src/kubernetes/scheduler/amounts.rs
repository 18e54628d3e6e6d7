//! How much does a pod need, and what is short on a node?

use serde_json::Value;

use super::quantity::{milli, units};
use crate::kubernetes::reading::{list, text};

/// Of everything that can be counted. The usual four have members of their own because they are asked for all the time.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amounts {
    /// Thousandths.
    pub cpu: i64,
    pub memory: i64,
    pub disk: i64,
    pub pods: i64,
    /// Sorted by name.
    pub other: Vec<(String, i64)>,
}

impl Amounts {
    /// A resource list: `cpu: 500m`, `memory: 1Gi`.
    pub fn of_list(list: &Value) -> Self {
        let mut amounts = Self::default();
        for (name, value) in list.as_object().into_iter().flatten() {
            match name.as_str() {
                "cpu" => amounts.cpu = milli(value),
                "memory" => amounts.memory = units(value),
                "ephemeral-storage" => amounts.disk = units(value),
                "pods" => amounts.pods = units(value),
                _ => amounts.other.push((name.clone(), units(value))),
            }
        }
        amounts.other.sort();
        amounts
    }

    /// What the scheduler reserves for a pod: containers together, or the largest moment of its start if that is
    /// more, sidecars included, plus overhead. What the pod itself asks for as a whole wins.
    pub fn of_pod(spec: &Value) -> Self {
        let mut sum = Self::default();
        for container in list(&spec["containers"]) {
            sum.add(&requests(&container["resources"]));
        }
        let (mut sidecars, mut peak) = (Self::default(), Self::default());
        for container in list(&spec["initContainers"]) {
            let own = requests(&container["resources"]);
            if text(container, "restartPolicy") == "Always" {
                sidecars.add(&own);
                peak.raise(&sidecars);
            } else {
                let mut moment = own;
                moment.add(&sidecars);
                peak.raise(&moment);
            }
        }
        sum.add(&sidecars);
        sum.raise(&peak);
        sum.replace(&requests(&spec["resources"]));
        sum.add(&Self::of_list(&spec["overhead"]));
        sum.pods = 1;
        sum
    }

    pub fn add(&mut self, more: &Self) {
        self.join(more, i64::saturating_add);
    }

    pub fn subtract(&mut self, less: &Self) {
        self.join(less, i64::saturating_sub);
    }

    /// The larger of both, each for itself.
    pub fn raise(&mut self, to: &Self) {
        self.join(to, i64::max);
    }

    fn replace(&mut self, by: &Self) {
        self.join(by, |one, two| if two == 0 { one } else { two });
    }

    fn join(&mut self, with: &Self, how: impl Fn(i64, i64) -> i64) {
        self.cpu = how(self.cpu, with.cpu);
        self.memory = how(self.memory, with.memory);
        self.disk = how(self.disk, with.disk);
        self.pods = how(self.pods, with.pods);
        for (name, amount) in &with.other {
            match self.other.binary_search_by(|(have, _)| have.cmp(name)) {
                Ok(at) => self.other[at].1 = how(self.other[at].1, *amount),
                Err(at) => self.other.insert(at, (name.clone(), how(0, *amount))),
            }
        }
    }

    pub fn other(&self, name: &str) -> i64 {
        let at = self
            .other
            .binary_search_by(|(have, _)| have.as_str().cmp(name));
        at.map_or(0, |at| self.other[at].1)
    }

    /// Names of what does not fit into `total` beside `used`. Nothing is short of what is not asked for.
    pub fn short_of(&self, total: &Self, used: &Self) -> Vec<&str> {
        let mut short = Vec::new();
        let mut check = |name, asked: i64, total: i64, used: i64| {
            if asked > 0 && asked > total.saturating_sub(used) {
                short.push(name);
            }
        };
        check("cpu", self.cpu, total.cpu, used.cpu);
        check("memory", self.memory, total.memory, used.memory);
        check("ephemeral-storage", self.disk, total.disk, used.disk);
        for (name, asked) in &self.other {
            check(name, *asked, total.other(name), used.other(name));
        }
        short
    }
}

/// Requests; what has only a limit requests that.
fn requests(resources: &Value) -> Amounts {
    let mut requests = Amounts::of_list(&resources["limits"]);
    let written = &resources["requests"];
    requests.replace(&Amounts::of_list(written));
    // an explicit zero is not the limit
    for (name, _) in written.as_object().into_iter().flatten() {
        match name.as_str() {
            "cpu" => requests.cpu = milli(&written[name]),
            "memory" => requests.memory = units(&written[name]),
            _ => {}
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_needs_its_containers_or_its_start_whichever_is_more() {
        let needs = |cpu: &str| json!({"requests": {"cpu": cpu}});
        let cases = [
            (
                "sum of containers",
                json!({"containers": [{"resources": needs("1")}, {"resources": needs("500m")}]}),
                1500,
            ),
            (
                "a large init container",
                json!({"containers": [{"resources": needs("1")}], "initContainers": [{"resources": needs("3")}]}),
                3000,
            ),
            (
                "a sidecar runs beside",
                json!({"containers": [{"resources": needs("1")}],
                "initContainers": [{"resources": needs("1"), "restartPolicy": "Always"}]}),
                2000,
            ),
            (
                "init after a sidecar",
                json!({"containers": [{"resources": needs("1")}],
                "initContainers": [{"resources": needs("1"), "restartPolicy": "Always"}, {"resources": needs("2")}]}),
                3000,
            ),
            (
                "init before a sidecar",
                json!({"containers": [{"resources": needs("1")}],
                "initContainers": [{"resources": needs("2")}, {"resources": needs("1"), "restartPolicy": "Always"}]}),
                2000,
            ),
            (
                "overhead",
                json!({"containers": [{"resources": needs("1")}], "overhead": {"cpu": "250m"}}),
                1250,
            ),
            (
                "only a limit",
                json!({"containers": [{"resources": {"limits": {"cpu": "2"}}}]}),
                2000,
            ),
            (
                "an explicit zero",
                json!({"containers": [{"resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "0"}}}]}),
                0,
            ),
            (
                "the pod as a whole",
                json!({"containers": [{"resources": needs("1")}], "resources": needs("4")}),
                4000,
            ),
        ];
        for (what, spec, wanted) in cases {
            assert_eq!(Amounts::of_pod(&spec).cpu, wanted, "{what}");
        }
    }

    #[test]
    fn what_a_node_does_not_have_is_short() {
        let asked = Amounts::of_list(&json!({"cpu": "1", "nvidia.com/gpu": "1"}));
        let total = Amounts::of_list(&json!({"cpu": "1"}));
        assert_eq!(
            asked.short_of(&total, &Amounts::default()),
            ["nvidia.com/gpu"]
        );
    }
}
