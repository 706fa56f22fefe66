/** What generated Java readers need by hand: bytes, varints, checksums, compression and one exception. */
package org.kodec.runtime;
