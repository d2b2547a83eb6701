//! A certificate for a run, the server with it and the clients that trust only this certificate.

use std::io::{self, Error};
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde::{Deserialize, Serialize};

/// The name of the server.
pub(super) const NAME: &str = "localhost";

/// A certificate and the key, both in PEM.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Certificate(String, String);

/// Makes a certificate.
pub(super) fn certificate() -> io::Result<Certificate> {
    let names = vec![NAME.to_owned()];
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).map_err(Error::other)?;
    Ok(Certificate(cert.pem(), signing_key.serialize_pem()))
}

/// The server with this certificate.
pub(super) fn server(Certificate(certificate, key): &Certificate) -> io::Result<Arc<ServerConfig>> {
    let certificate =
        CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(Error::other)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(Error::other)?;
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).map_err(Error::other)?;
    Ok(Arc::new(config))
}

/// The clients that trust this certificate.
pub(super) fn client(certificate: Option<&Certificate>) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    if let Some(Certificate(certificate, _)) = certificate {
        let certificate = CertificateDer::from_pem_slice(certificate.as_bytes());
        roots.add(certificate.map_err(Error::other)?).map_err(Error::other)?;
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::{Certificate, certificate, client};

    #[test]
    fn text_without_a_certificate_is_an_error() {
        let Certificate(certificate, key) = certificate().expect("made");
        let trusts = |text: &str| client(Some(&Certificate(text.to_owned(), key.clone()))).is_ok();
        assert!(trusts(&certificate));
        for text in ["", "certificate", &certificate[..certificate.len() / 2]] {
            assert!(!trusts(text), "{text}");
        }
    }
}
