//! A package without code of its own, tested in this folder: the tests need its `.cargo/config.toml`.
