//! The stack of a thread: how much of it is left.

/// The stack of a thread, as the operating system tells it.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// The lowest address.
    end: usize,
    /// In bytes.
    size: usize,
}

impl Stack {
    /// Returns the calling thread's stack; `None` if the system does not tell.
    #[must_use]
    pub fn of_this_thread() -> Option<Self> {
        imp::stack().map(|(end, size)| Self { end, size })
    }

    /// Returns whether less than one part in `parts` of the stack is left; `None` if the caller runs on another stack.
    #[must_use]
    pub fn has_less_than(&self, parts: usize) -> Option<bool> {
        let here = 0_u8;
        let left = core::ptr::from_ref(&here).addr().checked_sub(self.end);
        left.filter(|&left| left <= self.size).map(|left| left < self.size / parts)
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use core::mem::MaybeUninit;
    use core::ptr;

    /// The lowest address and the size of the calling thread's stack.
    pub(super) fn stack() -> Option<(usize, usize)> {
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: it has no preconditions.
        let me = unsafe { libc::pthread_self() };
        // SAFETY: the thread runs. The call initialises the attributes, or fails.
        let failed = unsafe { libc::pthread_getattr_np(me, attributes.as_mut_ptr()) };
        if failed != 0 {
            return None;
        }
        let (mut end, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the attributes have been initialised, and the two places are valid for writes.
        let failed = unsafe {
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut end, &raw mut size)
        };
        // SAFETY: the attributes have been initialised, and are not used after this.
        unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
        (failed == 0).then(|| (end.addr(), size))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn stack() -> Option<(usize, usize)> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(brigade_loom)))]
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
    fn a_recursion_can_stop_at_any_part_of_the_stack() {
        let check = || {
            let stack = Stack::of_this_thread().expect("the system tells it");
            let depths = [2, 4, 8].map(|parts| deeper(&stack, parts, 0));
            assert!(0 < depths[0] && depths.is_sorted_by(|one, other| one < other), "{depths:?}");
        };
        thread::Builder::new().stack_size(1 << 20).spawn(check).unwrap().join().unwrap();
    }

    #[test]
    fn a_stack_says_nothing_about_another() {
        let stack = Stack::of_this_thread().expect("the system tells it");
        let other = thread::spawn(move || stack.has_less_than(2));
        assert_eq!((stack.has_less_than(1), other.join().unwrap()), (Some(true), None));
    }
}
