impl<'a> Stream<'a> {
    /// Decompressed bytes, no more than allowed.
    #[cfg(feature = "zlib")]
    pub(crate) fn zlib(&self, name: &str, data: &[u8]) -> Result<&'a [u8]> {
        use std::io::{ErrorKind, Read};
        let at = self.at.get().saturating_sub(data.len());
        let inflated = &self.reading.inflated;
        let most = self
            .reading
            .options
            .max_decompressed
            .saturating_sub(inflated.get());
        let mut found = Vec::new();
        let limit = (most as u64).saturating_add(1);
        let result = flate2::read::ZlibDecoder::new(data)
            .take(limit)
            .read_to_end(&mut found);
        if found.len() > most {
            return Err(self.too_large(name, "zlib", at));
        }
        match result {
            Ok(_) => {
                inflated.set(inflated.get() + found.len());
                Ok(self.reading.keep(found))
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.malformed(name, "zlib: the data have no end", at))
            }
            Err(error) => Err(self.malformed(name, &format!("zlib: {error}"), at)),
        }
    }

    /// The crate is built without it.
    #[cfg(not(feature = "zlib"))]
    pub(crate) fn zlib(&self, name: &str, data: &[u8]) -> Result<&'a [u8]> {
        let at = self.at.get().saturating_sub(data.len());
        Err(self
            .failed(Code::Unsupported, name, at)
            .because("the feature `zlib` is off"))
    }
}
