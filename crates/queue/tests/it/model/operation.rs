//! The operations on the queues, and their encoding in four bytes.

use brigade_queue::Limit;

/// One step. Rings are numbered modulo their count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Push {
        ring: u8,
    },
    PushCounted {
        ring: u8,
    },
    PushOverflowing {
        ring: u8,
    },
    Extend {
        ring: u8,
        count: u8,
    },
    Pop {
        ring: u8,
    },
    /// Claims `want` items and reads `used` of them; the owner continues before the rest is
    /// dropped.
    Drain {
        ring: u8,
        want: u8,
        used: u8,
    },
    StealOne {
        from: u8,
    },
    /// With a closure that pops an item of the victim first if it `meddles`.
    Steal {
        from: u8,
        to: u8,
        want: u8,
        meddles: bool,
    },
    StealAndPop {
        from: u8,
        to: u8,
        want: u8,
    },
    StealBatch {
        from: u8,
        to: u8,
        limit: Limit,
    },
    StealBatchAndPop {
        from: u8,
        to: u8,
        limit: Limit,
    },
    TakeOverflow {
        ring: u8,
    },
    Inject,
    InjectAccepted,
    InjectBatch {
        count: u16,
    },
    InjectBatchAccepted {
        count: u8,
    },
    Take,
    TakeBatch {
        ring: u8,
        limit: Limit,
    },
    Close,
}

impl Operation {
    /// Decodes any four bytes.
    pub(crate) fn from_bytes([kind, a, b, c]: [u8; 4]) -> Self {
        let amount = c % 12;
        let limit = match b / 64 {
            0 => Limit::Half,
            1 => Limit::HalfAtMost(amount.into()),
            2 => Limit::AtMost(amount.into()),
            _ => Limit::All,
        };
        match kind % 32 {
            0..=3 => Self::Push { ring: a },
            4 => Self::PushCounted { ring: a },
            5..=7 => Self::PushOverflowing { ring: a },
            8 | 9 => Self::Extend { ring: a, count: amount },
            10..=12 => Self::Pop { ring: a },
            13 | 14 => Self::Drain { ring: a, want: amount, used: b % 6 },
            15 => Self::StealOne { from: a },
            16 | 17 => Self::Steal { from: a, to: b, want: amount, meddles: c >= 128 },
            18 => Self::StealAndPop { from: a, to: b, want: amount },
            19 | 20 => Self::StealBatch { from: a, to: b, limit },
            21 | 22 => Self::StealBatchAndPop { from: a, to: b, limit },
            23 => Self::TakeOverflow { ring: a },
            24 => Self::Inject,
            25 => Self::InjectAccepted,
            26 => {
                Self::InjectBatch { count: if b < 32 { 400 + u16::from(c) } else { amount.into() } }
            }
            27 => Self::InjectBatchAccepted { count: amount },
            28 => Self::Take,
            29 | 30 => Self::TakeBatch { ring: a, limit },
            // Rare: a closed injector rejects the pushes of the rest of a sequence.
            _ if a < 32 => Self::Close,
            _ => Self::Take,
        }
    }
}
