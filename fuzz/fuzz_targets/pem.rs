//! Keys in PEM: what is accepted is the same key when it is written again, another letter in it is another key or none,
//! and no text is both kinds of key.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_sign::{PublicKey, SigningKey};

fuzz_target!(|pem: &str| {
    let public = PublicKey::from_pem(pem);
    if let Ok(key) = &public {
        assert_eq!(PublicKey::from_pem(&key.to_pem()).as_ref(), Ok(key));
        assert_eq!(PublicKey::from_bytes(key.as_bytes()).as_ref(), Ok(key));
        assert!(key.is_named(key.key_id()) && key.is_named(key.fingerprint()));
        assert_ne!(PublicKey::from_pem(&changed(&key.to_pem(), pem.len())).as_ref(), Ok(key));
    }
    if let Ok(key) = SigningKey::from_pkcs8_pem(pem) {
        assert!(public.is_err(), "a private key is never taken for a public one");
        let again = SigningKey::from_pkcs8_pem(key.to_pkcs8_pem().as_str());
        assert_eq!(again.expect("a written key is one").public(), key.public());
        assert_eq!(PublicKey::from_bytes(key.public().as_bytes()), Ok(key.public()));
    }
});

/// The PEM with one letter of its second line, which is the key, replaced.
fn changed(pem: &str, place: usize) -> String {
    let start = pem.find('\n').map_or(0, |end| end + 1);
    let length = pem[start..].find(['\n', '=']).unwrap_or(pem.len() - start);
    let place = start + place.wrapping_mul(31) % length;
    let other = if pem[place..].starts_with('A') { "B" } else { "A" };
    format!("{}{other}{}", &pem[..place], &pem[place + 1..])
}
