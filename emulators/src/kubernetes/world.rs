//! Which parts of the cluster act by themselves, and when does the next of them want to?

use jiff::{SignedDuration, Timestamp};

use super::store::Store;

/// Something that acts on the store by itself: a controller, the scheduler, the kubelets.
pub trait Actor: Send {
    /// Look at the store and act. Returns when it wants to look again even if nothing changes.
    /// Called after every change, `reaction` later, and at the instants it asked for.
    fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp>;
}

/// The store and who acts on it.
pub struct World {
    pub store: Store,
    actors: Vec<Box<dyn Actor>>,
    /// From a change until the actors see it.
    pub reaction: SignedDuration,
    /// The revision all actors have seen.
    seen: u64,
    /// When they will look at what changed since.
    look_at: Option<Timestamp>,
    /// The earliest instant an actor asked for.
    asked_for: Option<Timestamp>,
}

impl World {
    pub fn new(store: Store, actors: Vec<Box<dyn Actor>>) -> Self {
        Self {
            store,
            actors,
            reaction: SignedDuration::from_millis(5),
            seen: 0,
            look_at: None,
            asked_for: None,
        }
    }

    /// Everything that became due until `now`, each thing at its own instant.
    pub fn tick(&mut self, now: Timestamp) {
        self.notice(now);
        while let Some(at) = self.due().filter(|at| *at <= now) {
            self.look(at);
        }
    }

    /// Call after writing: the actors will look at it after their reaction time.
    pub fn notice(&mut self, now: Timestamp) {
        if self.store.revision() != self.seen {
            self.stir(now);
        }
    }

    /// Something outside the store changed: the actors will look after their reaction time.
    pub fn stir(&mut self, now: Timestamp) {
        if self.look_at.is_none() {
            self.look_at = now.checked_add(self.reaction).ok();
        }
    }

    /// When does somebody act next?
    pub fn due(&self) -> Option<Timestamp> {
        match (self.look_at, self.asked_for) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        }
    }

    fn look(&mut self, at: Timestamp) {
        self.look_at = None;
        self.asked_for = None;
        self.seen = self.store.revision();
        for actor in &mut self.actors {
            let again = actor.tick(&mut self.store, at);
            // asking for an instant that is over would stop time
            let again = again.map(|again| again.max(at.saturating_add(TICK).unwrap_or(at)));
            self.asked_for = match (self.asked_for, again) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            };
        }
        self.notice(at);
    }
}

const TICK: SignedDuration = SignedDuration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Adds one object at each look, three in all, the last two a minute apart.
    struct Counter(u32);

    impl Actor for Counter {
        fn tick(&mut self, store: &mut Store, now: Timestamp) -> Option<Timestamp> {
            if self.0 < 3 {
                self.0 += 1;
                let name = format!("n{}", self.0);
                store
                    .create("nodes", json!({"metadata": {"name": name}}), now)
                    .unwrap();
            }
            now.checked_add(SignedDuration::from_secs(60)).ok()
        }
    }

    #[test]
    fn actors_see_a_change_after_their_reaction_and_look_again_when_they_asked_to() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut world = World::new(Store::new(1), vec![Box::new(Counter(0))]);
        world.notice(start);
        assert_eq!(world.due(), Some(start + world.reaction));
        world.tick(start);
        assert_eq!(world.store.len(), 0);
        world.tick(start + SignedDuration::from_secs(1));
        assert_eq!(world.store.len(), 3);
        let due = world.due().unwrap();
        assert!(due > start + SignedDuration::from_secs(60), "{due}");
    }
}
