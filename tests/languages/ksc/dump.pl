# What ksc's Perl readers make of bytes, in the words of bridge.py.
#
#   perl -I RUNTIME -I FOLDER dump.pl TABLE
use strict;
use warnings;
use Encode;
use IO::KaitaiStruct;
use Scalar::Util qw(blessed);

open(my $table, '<', $ARGV[0]) or die $!;
my @rows = map { chomp; [split / /] } <$table>;
my %row_of = map { $rows[$_][0] => $_ } 0 .. $#rows;
for (@rows) {
    my ($file) = $_->[0] =~ /^(\w+)/;
    require "$file.pm";
}

# A scalar does not tell a number from a string: the table does.
sub dumped {
    my ($value, $kind) = @_;
    return 'null' unless defined $value;
    return '[' . join(',', map { dumped($_, $kind) } @$value) . ']' if ref $value eq 'ARRAY';
    if (blessed $value) {
        my $number = $row_of{ref $value};
        my ($class, @named) = @{$rows[$number]};
        my @found = map { my ($of, $name) = split /:/; dumped($value->$name(), $of) } @named;
        return "{\"$number\":[" . join(',', @found) . ']}';
    }
    return $value eq '' ? '0' : "$value" if $kind eq 'n';
    return '{"f":"' . unpack('H*', pack('d>', $value)) . '"}' if $kind eq 'f';
    return '"' . unpack('H*', utf8::is_utf8($value) ? Encode::encode('UTF-8', $value) : $value) . '"';
}

$| = 1;
print "IO::KaitaiStruct $IO::KaitaiStruct::VERSION, Perl ", substr($^V, 1), "\n";
while (my $line = <STDIN>) {
    chomp $line;
    my ($number, $version, $data) = split / /, $line, 3;
    my @told = $version eq '-' ? () : ($version);
    my $answer = eval {
        my $stream = IO::KaitaiStruct::Stream->new(pack('H*', $data));
        my $value = dumped($rows[$number][0]->new($stream, undef, undef, @told), 'o');
        ($stream->is_eof() ? 'V' : 'R') . $value;
    };
    my ($reason) = split /\n/, $answer // $@;
    print defined $answer ? $answer : "E$reason", "\n";
}
