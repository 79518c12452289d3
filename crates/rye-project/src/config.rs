//! Configuration files as they are written: one struct per file, from which the JSON schema is made.

mod approval;
mod default_provider;
mod engines;
mod examine;
mod files;
mod hooks;
mod patterns;
mod processes;
mod provider;
mod providers;
mod read;
mod resilience;
mod risk;
mod schema;
mod servers;
mod system_roots;
mod trust;
mod web;

pub use self::approval::FILE as APPROVAL_FILE;
pub(crate) use self::approval::approval_patterns;
pub use self::default_provider::DefaultProvider;
pub(crate) use self::default_provider::{FILE as DEFAULT_PROVIDER_FILE, default_provider};
pub use self::engines::{EngineAddress, engine_audience};
pub(crate) use self::files::{FILES, FileRules, meant_in_other_case, rules_of_file};
pub use self::hooks::FILE as HOOKS_FILE;
pub(crate) use self::hooks::is_hooks;
pub(crate) use self::processes::{FILE as PROCESSES_FILE, process_rules};
pub use self::provider::PROVIDERS;
pub(crate) use self::provider::is_provider;
pub(crate) use self::providers::{FILE as PROVIDERS_FILE, provider_variables};
pub use self::read::ConfigError;
pub(crate) use self::read::ConfigProblem;
pub use self::resilience::RESILIENCE_FILE;
pub(crate) use self::resilience::{
    ConfiguredLimits, complexity_limits, requests_at_once, thread_limits,
};
pub(crate) use self::risk::RISK_FILE;
pub use self::risk::risk_table;
pub use self::schema::{SCHEMAS, Schema, schema};
pub(crate) use self::servers::{FILE as SERVERS_FILE, servers};
pub use self::system_roots::{SystemRootsError, system_roots};
pub(crate) use self::trust::{
    policy_layers, requires_lock, single_host, strict_extends, trust_policy,
};
pub(crate) use self::web::{FILE as WEB_FILE, web_rules};
