//! The driver that a thread's files register with: the current one, and one that is created on demand.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use brigade_io::{Driver, DriverSupply, NoDriver, UdpSocket, pipe};

use brigade_testkit::test;
use futures_lite::future;

#[test]
fn the_innermost_driver_is_current_inside() {
    let (one, other) = (Driver::new().unwrap(), Driver::new().unwrap());
    let same = |driver: &Arc<Driver>| Arc::ptr_eq(&Driver::current().unwrap(), driver);
    one.enter(|| {
        assert!(same(&one));
        other.enter(|| assert!(same(&other)));
        assert!(same(&one));
        assert!(catch_unwind(AssertUnwindSafe(|| other.enter(|| panic!("inside")))).is_err());
        assert!(same(&one));
    });
    let error = Driver::current().unwrap_err();
    assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&NoDriver::None));
    let error = future::block_on(UdpSocket::bind(([127, 0, 0, 1], 0))).unwrap_err();
    assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&NoDriver::None));
    let connect = pin!(brigade_io::TcpStream::connect(([127, 0, 0, 1], 1)));
    assert!(connect.poll(&mut Context::from_waker(Waker::noop())).is_ready(), "an error at once");
}

#[test]
fn only_a_registration_asks_the_supply() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let makes = made.clone();
    let supply = DriverSupply::new(move || {
        let driver = Driver::new()?;
        makes.lock().unwrap().push(driver.clone());
        Ok(driver)
    });
    supply.enter(|| assert_eq!(made.lock().unwrap().len(), 0, "not needed yet"));
    let pipe = supply.enter(pipe).unwrap();
    assert_eq!(made.lock().unwrap()[0].sources(), 2);
    // Called at each registration; a value that it creates inside its own call registers with the
    // driver created before.
    let other = Driver::new().unwrap();
    supply.enter(|| {
        other.enter(|| assert!(Arc::ptr_eq(&Driver::current().unwrap(), &other)));
        supply.enter(|| drop(Driver::current().unwrap()));
        assert!(!Arc::ptr_eq(&Driver::current().unwrap(), &other));
    });
    assert_eq!(made.lock().unwrap().len(), 3);
    other.enter(|| {
        supply.enter(|| drop(Driver::current().unwrap()));
        assert!(Arc::ptr_eq(&Driver::current().unwrap(), &other));
    });
    assert_eq!(made.lock().unwrap()[0].sources(), 2);
    drop(pipe);
    assert_eq!(made.lock().unwrap()[0].sources(), 0);
}

#[test]
fn a_failing_supply_is_asked_again() {
    let asked = AtomicUsize::new(0);
    let supply = DriverSupply::new(move || match asked.fetch_add(1, Ordering::SeqCst) {
        0 => Err(io::ErrorKind::OutOfMemory.into()),
        _ => Driver::new(),
    });
    supply.enter(|| {
        assert_eq!(pipe().unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        pipe().unwrap();
    });
    let error = Driver::current().unwrap_err();
    assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&NoDriver::None));
}
