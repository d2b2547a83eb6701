//! The operations on the queues, and their encoding in four bytes.

/// One step. Rings are numbered modulo their count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operation {
    Push {
        ring: u8,
    },
    PushCounted {
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
    StealHalfAndPop {
        from: u8,
        to: u8,
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
        most: u8,
    },
    Close,
}

impl Operation {
    /// Decodes any four bytes.
    pub(crate) fn from_bytes([kind, a, b, c]: [u8; 4]) -> Self {
        let amount = c % 12;
        match kind % 32 {
            0..=6 => Self::Push { ring: a },
            7 => Self::PushCounted { ring: a },
            8 | 9 => Self::Extend { ring: a, count: amount },
            10..=12 => Self::Pop { ring: a },
            13 | 14 => Self::Drain { ring: a, want: amount, used: b % 6 },
            15 => Self::StealOne { from: a },
            16 | 17 => Self::Steal { from: a, to: b, want: amount, meddles: c >= 128 },
            18 => Self::StealAndPop { from: a, to: b, want: amount },
            19..=21 => Self::StealHalfAndPop { from: a, to: b },
            22 | 23 => Self::TakeOverflow { ring: a },
            24 => Self::Inject,
            25 => Self::InjectAccepted,
            26 => {
                Self::InjectBatch { count: if b < 32 { 400 + u16::from(c) } else { amount.into() } }
            }
            27 => Self::InjectBatchAccepted { count: amount },
            28 => Self::Take,
            29 | 30 => Self::TakeBatch { ring: a, most: if b < 64 { b } else { amount } },
            // Rare: a closed injector rejects the pushes of the rest of a sequence.
            _ if a < 32 => Self::Close,
            _ => Self::Take,
        }
    }
}
