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
        assert_eq!(public(public_hex).as_bytes(), &array(public_hex));
        assert_eq!(secret.sign(&bytes(message)), signature(expected));
        assert!(public(public_hex).verifies(&bytes(message), &signature(expected)));
        assert!(!public(public_hex).verifies(b"another message", &signature(expected)));
    }
}

#[track_caller]
fn check_signature_refused(public_hex: &str, message: &str, raw: [u8; 64]) {
    let signature = SignatureBytes::from_bytes(raw);
    assert!(!public(public_hex).verifies(&bytes(message), &signature), "{raw:02x?}");
}

/// Adds the order of the base point to `S`, the second half. Returns `None` if the sum does not fit in 32 bytes.
fn plus_order(mut raw: [u8; 64]) -> Option<[u8; 64]> {
    let mut carry = 0;
    for (digit, order) in raw.iter_mut().skip(32).zip(bytes(ORDER)) {
        let sum = u16::from(*digit) + u16::from(order) + carry;
        carry = sum >> 8;
        *digit = sum.to_le_bytes()[0];
    }
    (carry == 0).then_some(raw)
}

#[test]
fn refuses_every_malleable_signature() {
    for [_, public_hex, message, good] in RFC_8032 {
        let spellings: Vec<[u8; 64]> =
            std::iter::successors(plus_order(array(good)), |raw| plus_order(*raw)).collect();
        assert!(spellings.len() >= 14, "S + L, S + 2L, … as far as 32 bytes reach");
        for raw in spellings {
            check_signature_refused(public_hex, message, raw);
        }
    }
}

/// An attacker can make a signature with an `R` of small order without knowing the key.
#[test]
fn refuses_a_signature_of_small_order() {
    for [_, public_hex, message, good] in RFC_8032 {
        for small in SMALL_ORDER {
            for second in ["00".repeat(32), good.split_at(64).1.to_owned(), ORDER.to_owned()] {
                check_signature_refused(public_hex, message, array(&format!("{small}{second}")));
            }
        }
    }
}

#[test]
fn refuses_a_second_spelling_of_the_first_half() {
    let [_, public_hex, message, good] = RFC_8032[0];
    for first in 0xed..=0xff_u8 {
        for last in ["7f", "ff"] {
            let second = good.split_at(64).1;
            let raw = format!("{first:02x}{}{last}{second}", "ff".repeat(30));
            check_signature_refused(public_hex, message, array(&raw));
        }
    }
}

#[test]
fn refuses_every_flipped_bit() {
    for [_, public_hex, message, good] in RFC_8032 {
        for bit in 0..512 {
            let mut raw: [u8; 64] = array(good);
            raw[bit / 8] ^= 1 << (bit % 8);
            check_signature_refused(public_hex, message, raw);
        }
    }
}

/// Message, key and signature of cases on which implementations of Ed25519 differ, from Chalkias, Garillot and
/// Nikolaenko, "Taming the many EdDSAs". In turn: everything of small order; a key of small order; an `R` of small
/// order; mixed orders that satisfy both equations; mixed orders that satisfy only the equation with the cofactor
/// (twice); `S` too large (twice); a second encoding of `R` (twice).
const DISPUTED: [[&str; 3]; 10] = [
    [
        "8c93255d71dcab10e8f379c26200f3c7bd5f09d9bc3068d3ef4edeb4853022b6",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a0000000000000000000000000000000000000000000000000000000000000000",
    ],
    [
        "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43a5bb704786be79fc476f91d3f3f89b03984d8068dcf1bb7dfc6637b45450ac04",
    ],
    [
        "aebf3f2601a0c8c5d39cc7d8911642f740b78168218da8471772b35f9d35b9ab",
        "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa8c4bd45aecaca5b24fb97bc10ac27ac8751a7dfe1baff8b953ec9f5833ca260e",
    ],
    [
        "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
        "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009",
    ],
    [
        "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
        "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed5125ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09",
    ],
    [
        "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
        "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
        "21122a84e0b5fca4052f5b1235c80a537878b38f3142356b2c2384ebad4668b7e40bc836dac0f71076f9abe3a53f9c03c1ceeeddb658d0030494ace586687405",
    ],
    [
        "85e241a07d148b41e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec40",
        "442aad9f089ad9e14647b1ef9099a1ff4798d78589e66f28eca69c11f582a623",
        "e96f66be976d82e60150baecff9906684aebb1ef181f67a7189ac78ea23b6c0e547f7690a0e2ddcd04d87dbc3490dc19b3b3052f7ff0538cb68afb369ba3a514",
    ],
    [
        "85e241a07d148b41e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec40",
        "442aad9f089ad9e14647b1ef9099a1ff4798d78589e66f28eca69c11f582a623",
        "8ce5b96c8f26d0ab6c47958c9e68b937104cd36e13c33566acd2fe8d38aa19427e71f98a473474f2f13f06f97c20d58cc3f54b8bd0d272f42b695dd7e89a8c22",
    ],
    [
        "fdaebc429f4a735932a160da1301080c13280eea8bc280d1b392c6b9e6ba3a5a",
        "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f454d370c8d9fc323a41450f8d513eafeb5b0697390c1e505a0d4ddc71f566607",
    ],
    [
        "84b698d39be126ff55fe45079e6c8bf64a0d7db6994560b4e96b7021eb39c1a1",
        "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f084d5b99c2a9463d9c8bd5026916996984eeec87ddf1d3be329006ace1b37b09",
    ],
];

#[test]
fn decides_disputed_signatures_strictly() {
    let accepted: Vec<bool> = DISPUTED
        .iter()
        .map(|[message, key, signed]| {
            PublicKey::from_bytes(&array(key))
                .is_ok_and(|key| key.verifies(&bytes(message), &signature(signed)))
        })
        .collect();
    // RFC 8032 accepts a signature with mixed orders that satisfies the equation without the cofactor.
    let only_the_fourth: Vec<bool> = (0..10).map(|index| index == 3).collect();
    assert_eq!(accepted, only_the_fourth);
}

#[track_caller]
fn check_key_refused(hex: &str, expected: &KeyError) {
    assert_eq!(PublicKey::from_bytes(&array(hex)), Err(expected.clone()));
}

/// Every encoding of a point of small order, including non-canonical ones and ones with the sign of zero.
const SMALL_ORDER: [&str; 10] = [
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
];

#[test]
fn refuses_every_point_of_small_order() {
    for hex in SMALL_ORDER {
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

/// About half of all coordinates are those of a point, also where a part of the bytes is like those of a second spelling.
#[test]
fn reads_coordinates_close_to_a_second_spelling() {
    for (place, others, last) in [(1, 0x00, 0x7f), (30, 0x00, 0xff), (31, 0xff, 0x00)] {
        let is_read = |byte: &u8| {
            let mut raw = [others; 32];
            (raw[0], raw[31]) = (0xff, last);
            raw[place] = *byte;
            PublicKey::from_bytes(&raw).is_ok()
        };
        let read = (0..0x7f_u8).filter(is_read).count();
        assert!((32..96).contains(&read), "{read} of 127 with byte {place}");
    }
}

#[test]
fn refuses_bytes_that_are_no_point() {
    check_key_refused(&format!("02{}", "00".repeat(31)), &KeyError::NotCanonical);
}

/// A public key from practice, with its two ids.
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
