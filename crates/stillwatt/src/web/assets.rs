//! The page's files, inside the binary. Pure.

/// One file of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) media_type: &'static str,
    pub(super) bytes: &'static [u8],
}

macro_rules! assets {
    ($($path:literal = $file:literal, $media_type:literal;)*) => {
        /// All files of the page by their path on the server.
        pub(super) const ASSETS: &[Asset] = &[
            $(Asset { path: $path, media_type: $media_type, bytes: include_bytes!($file) },)*
        ];
    };
}

assets! {
    "/" = "page/index.html", "text/html; charset=utf-8";
    "/style.css" = "page/style.css", "text/css; charset=utf-8";
    "/app.js" = "page/app.js", "text/javascript; charset=utf-8";
    "/charts.js" = "page/charts.js", "text/javascript; charset=utf-8";
    "/format.js" = "page/format.js", "text/javascript; charset=utf-8";
    "/store.js" = "page/store.js", "text/javascript; charset=utf-8";
    "/tables.js" = "page/tables.js", "text/javascript; charset=utf-8";
    "/theme.js" = "page/theme.js", "text/javascript; charset=utf-8";
    "/favicon.svg" = "page/favicon.svg", "image/svg+xml";
    "/uplot.js" = "vendor/uPlot.iife.min.js", "text/javascript; charset=utf-8";
    "/uplot.css" = "vendor/uPlot.min.css", "text/css; charset=utf-8";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page works offline: no file of ours names an address elsewhere, but for XML namespaces.
    #[test]
    fn nothing_from_elsewhere() {
        for asset in ASSETS {
            let text = String::from_utf8_lossy(asset.bytes).replace("http://www.w3.org/", "");
            assert!(!text.contains("http://"), "{}", asset.path);
            let links = text.matches("https://").count();
            // The vendored library names its home page in its licence line.
            let links_allowed = usize::from(asset.path == "/uplot.js");
            assert_eq!(links, links_allowed, "{}", asset.path);
        }
    }

    /// The security policy forbids inline script and style, so the page must have none.
    #[test]
    fn nothing_inline() {
        let page = ASSETS.iter().find(|asset| asset.path == "/").unwrap();
        let page = String::from_utf8_lossy(page.bytes);
        for forbidden in ["<style", " style=", " onclick=", "javascript:"] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
        assert!(page.matches("<script").count() == page.matches("<script ").count());
    }
}
