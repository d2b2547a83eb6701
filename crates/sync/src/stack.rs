//! The stack of a thread: how much of it is left.

/// The stack of a thread. The default is a stack of unknown size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stack {
    /// An address near its beginning. It grows down from there, as on all systems where the standard library has threads.
    begin: usize,
    /// In bytes.
    size: usize,
}

impl Stack {
    /// Notes the stack of the calling thread, which has just begun, with a size in bytes.
    #[must_use]
    pub fn that_begins_here(size: usize) -> Self {
        Self { begin: address(), size }
    }

    /// Returns whether less than the `parts`-th part of the stack is left; `None` if the size is unknown, or if the caller
    /// runs on another stack.
    #[must_use]
    pub fn has_less_than(&self, parts: usize) -> Option<bool> {
        let used = self.begin.checked_sub(address());
        used.filter(|&used| used <= self.size).map(|used| self.size - used < self.size / parts)
    }
}

/// An address on the calling thread's stack.
#[inline(never)]
fn address() -> usize {
    let here = 0_u8;
    core::ptr::from_ref(&here).addr()
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::hint::black_box;
    use std::thread;

    use super::*;

    fn deeper(stack: &Stack, parts: usize, depth: usize) -> usize {
        let frame = black_box([0_u8; 1024]);
        match stack.has_less_than(parts) {
            Some(false) => deeper(stack, parts, depth + 1) + usize::from(frame[depth % 1024]),
            _ => depth,
        }
    }

    #[test]
    fn a_recursion_can_stop_anywhere_in_the_stack() {
        let check = || {
            let stack = Stack::that_begins_here(1 << 20);
            let depths = [2, 4, 8].map(|parts| deeper(&stack, parts, 0));
            assert!(0 < depths[0] && depths.is_sorted_by(|one, other| one < other), "{depths:?}");
        };
        thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
    }

    #[test]
    fn a_stack_says_nothing_about_another() {
        let stack = Stack::that_begins_here(1 << 16);
        let other = thread::spawn(move || stack.has_less_than(2));
        assert_eq!((stack.has_less_than(2), other.join().unwrap()), (Some(false), None));
        assert_eq!(Stack::default().has_less_than(2), None);
    }
}
