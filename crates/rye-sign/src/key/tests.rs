use super::{KeyError, PublicKey};
use crate::digest::Digest;
use crate::signature_bytes::SignatureBytes;
use crate::signing_key::SigningKey;

/// RFC 8032, section 7.1, tests 1 to 3: secret, public, message, signature.
const RFC_8032: [[&str; 4]; 3] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
];

/// The order of the base point, little endian.
const ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

fn bytes(hex: &str) -> Vec<u8> {
    let pairs =
        hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex is ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex digits")).collect()
}

fn array<const N: usize>(hex: &str) -> [u8; N] {
    bytes(hex).try_into().expect("a literal of the right length")
}

fn signature(hex: &str) -> SignatureBytes {
    SignatureBytes::from_bytes(array(hex))
}

fn public(hex: &str) -> PublicKey {
    PublicKey::from_bytes(&array(hex)).expect("a good key")
}

#[test]
fn agrees_with_rfc_8032() {
    for [secret, public_hex, message, expected] in RFC_8032 {
        let secret = SigningKey::new(ed25519_dalek::SigningKey::from_bytes(&array(secret)));
        assert_eq!(secret.public(), public(public_hex));
        assert_eq!(secret.sign(&bytes(message)), signature(expected));
        assert!(public(public_hex).verifies(&bytes(message), &signature(expected)));
        assert!(!public(public_hex).verifies(b"another message", &signature(expected)));
    }
}

#[test]
fn refuses_a_malleable_signature() {
    for [_, public_hex, message, good] in RFC_8032 {
        let mut raw: [u8; 64] = array(good);
        let mut carry = 0;
        for (digit, order) in raw.iter_mut().skip(32).zip(bytes(ORDER)) {
            let sum = u16::from(*digit) + u16::from(order) + carry;
            carry = sum >> 8;
            *digit = sum.to_le_bytes()[0];
        }
        assert_eq!(carry, 0);
        assert!(!public(public_hex).verifies(&bytes(message), &SignatureBytes::from_bytes(raw)));
    }
}

#[test]
fn refuses_a_signature_of_small_order() {
    let [_, public_hex, message, _] = RFC_8032[0];
    let mut raw = [0; 64];
    raw[0] = 1;
    assert!(!public(public_hex).verifies(&bytes(message), &SignatureBytes::from_bytes(raw)));
}

#[track_caller]
fn check_key_refused(hex: &str, expected: &KeyError) {
    assert_eq!(PublicKey::from_bytes(&array(hex)), Err(expected.clone()));
}

#[test]
fn refuses_every_point_of_small_order() {
    for hex in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ] {
        check_key_refused(hex, &KeyError::Weak);
    }
}

#[test]
fn refuses_every_second_spelling_of_a_coordinate() {
    for first in 0xed..=0xff_u8 {
        for last in ["7f", "ff"] {
            check_key_refused(
                &format!("{first:02x}{}{last}", "ff".repeat(30)),
                &KeyError::NotCanonical,
            );
        }
    }
}

#[test]
fn refuses_bytes_that_are_no_point() {
    check_key_refused(&format!("02{}", "00".repeat(31)), &KeyError::NotCanonical);
}

/// A public key that was seen in use, with its two names.
const SEEN_PEM: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAUbAHc8d2KetZE2I9eb+VaUpTLkNsDJtFaAsY0nTEm7I=\n-----END PUBLIC KEY-----\n";

#[test]
fn both_names_of_a_key_that_was_seen() {
    let key = PublicKey::from_pem(SEEN_PEM).expect("a good key");
    assert_eq!(key.key_id().as_str(), "6ea18199041a1ea8");
    let fingerprint = "5e953607d814e96e41b0937c934642f2f2a0061da58647f8ebc3d040bcdf92c3";
    assert_eq!(key.fingerprint().as_str(), fingerprint);
    assert!(key.is_named(key.key_id()) && key.is_named(key.fingerprint()));
    assert_eq!(key.to_pem(), SEEN_PEM);
    assert_eq!(format!("{key:?}"), "PublicKey(6ea18199041a1ea8)");
}

#[test]
fn signatures_that_were_seen_are_over_the_hex_digits() {
    let key = PublicKey::from_pem(SEEN_PEM).expect("a good key");
    for (digest, text) in [
        (
            "3a8867b33d952136b7cb9c09dd9b0666efdc303f6a1aa42db9953654b7f884b8",
            "MXx3nQup3Yk8uiTCw3yGfm8bAWVcWb5gLYew1IglzUVBJgim3ZN93GInZS0VQhaqlcLsKHtSVU3V83yCwHTrBg",
        ),
        (
            "a081b222bffc9714e906beccd866f563a210255708bd91bcad4014d422f1792f",
            "yt7X-DYIqzYPN7XE_WgZqQ2NAA93_jcqHjIEK4viZpjl2kQysKj5CHcAaf3HYpCeg-sTwVB8FjHWO4hBoipoAg==",
        ),
    ] {
        let signature = SignatureBytes::decode(text).expect("well-formed");
        assert!(key.verifies(digest.as_bytes(), &signature));
        let raw: Digest = digest.parse().expect("a digest");
        assert!(!key.verifies(raw.as_bytes(), &signature));
    }
}

#[test]
fn pem_is_read_with_either_line_end_and_named_alike() {
    let key = PublicKey::from_pem(SEEN_PEM).expect("a good key");
    for pem in
        [SEEN_PEM.replace('\n', "\r\n"), SEEN_PEM.trim().to_owned(), format!("\n{SEEN_PEM}\n")]
    {
        assert_eq!(PublicKey::from_pem(&pem), Ok(key.clone()));
    }
}

#[track_caller]
fn check_pem_refused(pem: &str, message: &str) {
    assert_eq!(
        PublicKey::from_pem(pem).map_err(|error| error.to_string()),
        Err(message.to_owned())
    );
}

#[test]
fn says_what_is_wrong_with_a_pem() {
    let not_public =
        "not an Ed25519 public key in PEM, which begins with `-----BEGIN PUBLIC KEY-----`";
    check_pem_refused("", not_public);
    check_pem_refused(&SEEN_PEM.replace("MCow", "MCox"), not_public);
    let weak = "MCowBQYDK2VwAyEAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    check_pem_refused(
        &format!("-----BEGIN PUBLIC KEY-----\n{weak}\n-----END PUBLIC KEY-----\n"),
        "the Ed25519 public key is weak: it would accept forged signatures; ask its owner for a newly generated key",
    );
    check_pem_refused(
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA7f///////////////////////////////////////38=\n-----END PUBLIC KEY-----\n",
        "the Ed25519 public key is not canonically encoded; ask its owner for a newly generated key",
    );
    let secret = SigningKey::generate().expect("random bytes").to_pkcs8_pem();
    check_pem_refused(
        secret.as_str(),
        "this is a private key where a public key belongs; give the `public_key.pem` beside it, and share no private key",
    );
}
