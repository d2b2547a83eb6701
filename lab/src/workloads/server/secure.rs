//! A certificate for one run, the server that shows it and the clients that trust it and no other.

use std::io::{self, Error};
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The name of the server.
pub(super) const NAME: &str = "localhost";

/// Makes a certificate: the server that shows it, and the certificate as a text for its clients.
pub(super) fn server() -> io::Result<(Arc<ServerConfig>, String)> {
    let names = vec![NAME.to_owned()];
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).map_err(Error::other)?;
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).map_err(Error::other)?;
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![cert.der().clone()], key).map_err(Error::other)?;
    Ok((Arc::new(config), cert.pem()))
}

/// The clients of the server that shows this certificate.
pub(super) fn client(certificate: &str) -> io::Result<Arc<ClientConfig>> {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.map_err(Error::other)?).map_err(Error::other)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::{client, server};

    #[test]
    fn a_text_that_is_no_certificate_is_an_error() {
        let (_, certificate) = server().expect("made");
        assert!(client(&certificate).is_ok());
        for text in ["", "certificate", &certificate[..certificate.len() / 2]] {
            assert!(client(text).is_err(), "{text}");
        }
    }
}
