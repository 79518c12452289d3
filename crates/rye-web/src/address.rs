//! IP addresses outside of the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the purpose of an address outside of the public internet, or `None` for a public address.
///
/// The addresses are those of the special-purpose registries of IANA (RFC 6890), and the metadata addresses
/// of clouds. In IPv6, only global unicast addresses count as public. An address that contains an IPv4
/// address never does, because it may be translated to a reserved one.
///
/// ```
/// use rye_web::reserved_purpose;
///
/// assert_eq!(reserved_purpose("169.254.169.254".parse()?), Some("a link-local address"));
/// assert_eq!(reserved_purpose("::ffff:10.0.0.1".parse()?), Some("an IPv4 address written as IPv6"));
/// assert_eq!(reserved_purpose("93.184.215.14".parse()?), None);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[must_use]
pub fn reserved_purpose(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            first(IPV4, u128::from(u32::from(address)), 32, |it| u128::from(u32::from(*it)))
        }
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v6(address: Ipv6Addr) -> Option<&'static str> {
    let bits = u128::from(address);
    let listed = first(IPV6, bits, 128, |it| u128::from(*it));
    listed.or_else(|| {
        // ISATAP: the interface identifier begins with this value and ends with an IPv4 address.
        let interface = (bits >> 32) & 0xfdff_ffff;
        if interface == 0x5efe {
            return Some("an IPv4 address within IPv6");
        }
        (bits >> 125 != 1).then_some("an unassigned address")
    })
}

fn first<A>(
    table: &[(A, u32, &'static str)],
    bits: u128,
    width: u32,
    number: impl Fn(&A) -> u128,
) -> Option<&'static str> {
    let within = |(network, prefix, _): &&(A, u32, &str)| {
        let rest = width - prefix;
        bits >> rest == number(network) >> rest
    };
    table.iter().find(within).map(|(_, _, what)| *what)
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

/// The network, the length of its prefix, and its purpose.
const IPV4: &[(Ipv4Addr, u32, &str)] = &[
    (v4(0, 0, 0, 0), 8, "an address of this network"),
    (v4(10, 0, 0, 0), 8, "a private address"),
    (v4(100, 64, 0, 0), 10, "an address that a provider shares out"),
    (v4(127, 0, 0, 0), 8, "a loopback address"),
    // Metadata of Azure.
    (v4(168, 63, 129, 16), 32, "an address of cloud metadata"),
    (v4(169, 254, 0, 0), 16, "a link-local address"),
    (v4(172, 16, 0, 0), 12, "a private address"),
    (v4(192, 0, 0, 0), 24, "an address of a protocol"),
    (v4(192, 0, 2, 0), 24, "an address for documentation"),
    (v4(192, 88, 99, 0), 24, "an address of a relay to IPv6"),
    (v4(192, 168, 0, 0), 16, "a private address"),
    (v4(198, 18, 0, 0), 15, "an address for measurements"),
    (v4(198, 51, 100, 0), 24, "an address for documentation"),
    (v4(203, 0, 113, 0), 24, "an address for documentation"),
    (v4(224, 0, 0, 0), 4, "a multicast address"),
    (v4(240, 0, 0, 0), 4, "a reserved address"),
];

const fn v6(a: u16, b: u16, c: u16, f: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, 0, 0, f, 0, 0)
}

const IPV6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "an address of this machine"),
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (v6(0, 0, 0, 0xffff), 96, "an IPv4 address written as IPv6"),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4 address written as IPv6"),
    (v6(0x64, 0xff9b, 0, 0), 32, "an IPv4 address behind a translator"),
    (v6(0x2001, 0, 0, 0), 23, "an address of a protocol"),
    (v6(0x2001, 0xdb8, 0, 0), 32, "an address for documentation"),
    (v6(0x2002, 0, 0, 0), 16, "an IPv4 address within IPv6"),
    (v6(0x3fff, 0, 0, 0), 20, "an address for documentation"),
    (v6(0xfc00, 0, 0, 0), 7, "a private address"),
    (v6(0xfe80, 0, 0, 0), 10, "a link-local address"),
    (v6(0xfec0, 0, 0, 0), 10, "a private address"),
    (v6(0xff00, 0, 0, 0), 8, "a multicast address"),
];
