//! The nice value of a thread.

/// That of the calling thread.
pub(crate) fn nice_here() -> i32 {
    let path = std::fs::read_link("/proc/thread-self").unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", path.display())).unwrap();
    // proc(5): the 19th field, of which the second is in parentheses.
    let fields = stat.rsplit(')').next().unwrap();
    fields.split_whitespace().nth(16).unwrap().parse().unwrap()
}
