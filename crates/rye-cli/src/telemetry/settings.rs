//! Settings of telemetry, from the variables in OpenTelemetry's specification.

use std::time::Duration;

/// The target and the time limit of telemetry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `true` for `https`. The SDK reads the URL again and adds the path.
    pub(crate) is_encrypted: bool,
    /// The limit for an attempt, and for the rest after the end of the run.
    pub(crate) timeout: Duration,
}

impl Settings {
    /// Reads the settings. Returns `None` unless a target is set, because nothing may leave the machine by
    /// default.
    pub(crate) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let either = |name: &str| {
            let own = variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"));
            own.or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let endpoint = either("ENDPOINT");
        let is_disabled =
            variable("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"));
        let is_wanted = match variable("OTEL_TRACES_EXPORTER").as_deref() {
            _ if is_disabled => false,
            None => endpoint.is_some(),
            Some("none") => false,
            Some("otlp") => true,
            Some(other) => {
                return Err(format!("`OTEL_TRACES_EXPORTER` is `{other}`; use `otlp` or `none`"));
            }
        };
        if !is_wanted {
            return Ok(None);
        }
        match either("PROTOCOL").as_deref() {
            None | Some("http/protobuf") => {}
            Some(other) => {
                return Err(format!(
                    "`OTEL_EXPORTER_OTLP_PROTOCOL` is `{other}`; only `http/protobuf` is spoken"
                ));
            }
        }
        let timeout = either("TIMEOUT").map(|text| text.parse());
        let timeout = timeout.transpose().map_err(|_| {
            "`OTEL_EXPORTER_OTLP_TIMEOUT` is not a number of milliseconds".to_owned()
        })?;
        Ok(Some(Self {
            is_encrypted: endpoint.is_some_and(|url| url.starts_with("https:")),
            timeout: Duration::from_millis(timeout.unwrap_or(10_000)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "http://localhost:4318";

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Result<Option<(bool, u64)>, &str>) {
        let find = |name: &str| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let expected = expected.map_err(str::to_owned).map(|settings| {
            settings.map(|(is_encrypted, millis)| Settings {
                is_encrypted,
                timeout: Duration::from_millis(millis),
            })
        });
        assert_eq!(Settings::read(&find), expected, "{variables:?}");
    }

    #[test]
    fn nothing_is_sent_unless_somebody_says_where() {
        check(&[], Ok(None));
        check(&[("OTEL_SERVICE_NAME", "x")], Ok(None));
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", HERE)], Ok(Some((false, 10_000))));
        check(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://x/y")], Ok(Some((true, 10_000))));
        check(&[("OTEL_TRACES_EXPORTER", "otlp")], Ok(Some((false, 10_000))));
    }

    #[test]
    fn it_can_be_switched_off() {
        let here = ("OTEL_EXPORTER_OTLP_ENDPOINT", HERE);
        check(&[here, ("OTEL_SDK_DISABLED", "true")], Ok(None));
        check(&[here, ("OTEL_SDK_DISABLED", "TRUE")], Ok(None));
        check(&[here, ("OTEL_SDK_DISABLED", "false")], Ok(Some((false, 10_000))));
        check(&[here, ("OTEL_TRACES_EXPORTER", "none")], Ok(None));
    }

    #[test]
    fn what_is_not_there_is_said() {
        let here = ("OTEL_EXPORTER_OTLP_ENDPOINT", HERE);
        check(
            &[("OTEL_TRACES_EXPORTER", "console")],
            Err("`OTEL_TRACES_EXPORTER` is `console`; use `otlp` or `none`"),
        );
        check(
            &[here, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            Err("`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`; only `http/protobuf` is spoken"),
        );
        check(
            &[here, ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s")],
            Err("`OTEL_EXPORTER_OTLP_TIMEOUT` is not a number of milliseconds"),
        );
    }

    /// The variables for traces take precedence over those for all signals.
    #[test]
    fn the_nearer_variable_counts() {
        check(
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", HERE),
                ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://x"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
                ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"),
                ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
                ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "2"),
            ],
            Ok(Some((true, 2))),
        );
    }
}
