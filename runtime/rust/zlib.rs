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

impl<'a> Base<'a> {
    /// What bytes decompress to, if they begin with a whole stream.
    #[cfg(feature = "zlib")]
    pub(crate) fn unpacked(&self, data: &[u8], form: &str, name: &str) -> Result<&'a [u8]> {
        use std::io::Read;
        let most = self.io.reading.options.max_decompressed;
        let limit = (most as u64).saturating_add(1);
        let mut found = Vec::new();
        let is_whole = if form == "gzip" {
            let opened = flate2::read::GzDecoder::new(data);
            opened.take(limit).read_to_end(&mut found).is_ok()
        } else {
            // all at once: in parts it takes references to bytes before the first for zeros
            let mut room = data.len().saturating_mul(4).saturating_add(64);
            loop {
                room = room.min(most.saturating_add(1));
                found = Vec::with_capacity(room);
                let mut inflater = flate2::Decompress::new(form == "zlib");
                let all = flate2::FlushDecompress::Finish;
                match inflater.decompress_vec(data, &mut found, all) {
                    Ok(flate2::Status::StreamEnd) => break true,
                    Ok(_) if found.len() == found.capacity() && room <= most => {
                        room = room.saturating_mul(2);
                    }
                    _ => break false,
                }
            }
        };
        if !is_whole || found.len() > most {
            return Err(self.wrong(name, &format!("it is no whole {form} stream")));
        }
        Ok(self.io.reading.keep(found))
    }

    /// The crate is built without it.
    #[cfg(not(feature = "zlib"))]
    pub(crate) fn unpacked(&self, _: &[u8], _: &str, name: &str) -> Result<&'a [u8]> {
        let error = self.io.failed(Code::Unsupported, name, self.io.at.get());
        Err(error.because("the feature `zlib` is off"))
    }
}
