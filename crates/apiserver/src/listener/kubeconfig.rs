//! Kubeconfig files.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// One cluster, one user, one context.
pub(super) fn render(url: &str, ca_pem: Option<&str>, token: Option<&str>) -> String {
    let authority = ca_pem.map_or_else(String::new, |pem| {
        format!("    certificate-authority-data: {}\n", STANDARD.encode(pem))
    });
    let user = token.map_or_else(
        || " {}\n".to_owned(),
        |token| format!("\n    token: {token}\n"),
    );
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: evenkeel\n\
         \x20 cluster:\n\
         \x20   server: {url}\n\
         {authority}\
         users:\n\
         - name: admin\n\
         \x20 user:{user}\
         contexts:\n\
         - name: evenkeel\n\
         \x20 context:\n\
         \x20   cluster: evenkeel\n\
         \x20   user: admin\n\
         current-context: evenkeel\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_is_yaml_with_one_context() {
        let text = render("https://127.0.0.1:6443", Some("PEM"), Some("secret"));
        let config: serde_json::Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(
            config["clusters"][0]["cluster"]["server"],
            "https://127.0.0.1:6443"
        );
        assert_eq!(
            config["clusters"][0]["cluster"]["certificate-authority-data"],
            "UEVN"
        );
        assert_eq!(config["users"][0]["user"]["token"], "secret");
        assert_eq!(config["current-context"], config["contexts"][0]["name"]);
        let plain: serde_json::Value =
            serde_saphyr::from_str(&render("http://x", None, None)).unwrap();
        assert!(plain["clusters"][0]["cluster"]["certificate-authority-data"].is_null());
    }
}
