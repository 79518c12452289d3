//! Keys in PEM: what is accepted is the same key when it is written again, and no text is both kinds of key.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_sign::{PublicKey, SigningKey};

fuzz_target!(|pem: &str| {
    let public = PublicKey::from_pem(pem);
    if let Ok(key) = &public {
        assert_eq!(PublicKey::from_pem(&key.to_pem()).as_ref(), Ok(key));
        assert_eq!(PublicKey::from_bytes(key.as_bytes()).as_ref(), Ok(key));
        assert!(key.is_named(key.key_id()) && key.is_named(key.fingerprint()));
    }
    if let Ok(key) = SigningKey::from_pkcs8_pem(pem) {
        assert!(public.is_err(), "a private key is never taken for a public one");
        let again = SigningKey::from_pkcs8_pem(key.to_pkcs8_pem().as_str());
        assert_eq!(again.expect("a written key is one").public(), key.public());
        assert_eq!(PublicKey::from_bytes(key.public().as_bytes()), Ok(key.public()));
    }
});
