//! The examples of the project's page, which no published package has.

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
