//! How do emulated clouds tell the cluster's kubelets that a machine boots or halts, and hear what it says?

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::fronts::engine::{Engine, Hand};
use crate::machine::{Boot, Effect, Machine};

/// Cheap to clone; all clones are the same. One end belongs to [`super::Kubelets`], the other to the clouds.
#[derive(Clone, Default)]
pub struct Machines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    orders: Mutex<VecDeque<Order>>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

pub enum Order {
    Boot { boot: Boot, screen: Screen },
    Halt { machine: String },
}

/// Where a machine's words go.
#[derive(Clone)]
pub struct Screen(Option<UnboundedSender<Line>>);

/// (machine, text)
pub type Line = (String, String);

impl Machines {
    /// `wake` is called after every order, outside of any lock: it must make the world look.
    pub fn on_order(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.wake.set(Box::new(wake));
    }

    /// For one cloud: who acts on its effects, and what its machines say, to be shown by [`show`].
    pub fn hand(&self) -> (Hand, UnboundedReceiver<Line>) {
        let (sender, lines) = unbounded_channel();
        let machines = self.clone();
        let screen = Screen(Some(sender));
        let hand = move |effect| machines.act(effect, &screen);
        (Box::new(hand), lines)
    }

    pub fn act(&self, effect: Effect, screen: &Screen) {
        let order = match effect {
            Effect::Boot(boot) => Order::Boot {
                boot,
                screen: screen.clone(),
            },
            Effect::Halt { machine } => Order::Halt { machine },
        };
        self.lock().push_back(order);
        if let Some(wake) = self.0.wake.get() {
            wake();
        }
    }

    pub(super) fn take(&self) -> VecDeque<Order> {
        std::mem::take(&mut *self.lock())
    }

    /// Is there an order nobody has looked at?
    pub fn waiting(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Order>> {
        self.0.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    /// Nobody looks.
    pub fn dark() -> Self {
        Self(None)
    }

    pub fn show_all(&self, machine: &str, lines: &[String]) {
        for words in lines {
            self.show(machine, words);
        }
    }

    pub fn show(&self, machine: &str, words: &str) {
        if let Some(sender) = &self.0 {
            let _ = sender.send((machine.to_owned(), format!("{words}\n")));
        }
    }
}

/// Puts what machines say on their consoles, until the hand is dropped.
pub async fn show<M: Machine>(engine: Arc<Engine<M>>, mut lines: UnboundedReceiver<Line>) {
    while let Some((machine, text)) = lines.recv().await {
        engine.print(&machine, &text);
    }
}
