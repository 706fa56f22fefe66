# What ksc's Ruby readers make of bytes, in the words of bridge.py.
#
#   ruby -I RUNTIME dump.rb TABLE FOLDER
require 'kaitai/struct/struct'

ROWS = File.readlines(ARGV[0]).map(&:split)
Dir["#{ARGV[1]}/*.rb"].each { |path| require path }
CLASSES = ROWS.map { |name, *| Object.const_get(name) }
ROW_OF = CLASSES.each_with_index.to_h

# An enum's value is a symbol here, which its class has the number of.
NUMBERS = CLASSES.flat_map { |kind| kind.constants.grep(/^I__/).map { |each| kind.const_get(each) } }.reduce({}, :merge)

def dump(value)
  case value
  when nil then 'null'
  when true then '1'
  when false then '0'
  when Integer then value.to_s
  when Symbol then NUMBERS.fetch(value).to_s
  when Float then "{\"f\":\"#{[value].pack('G').unpack1('H*')}\"}"
  when String then "\"#{value.unpack1('H*')}\""
  when Array then "[#{value.map { |each| dump(each) }.join(',')}]"
  else
    number = ROW_OF.fetch(value.class)
    found = ROWS[number][1..].map { |each| dump(value.public_send(each[2..])) }
    "{\"#{number}\":[#{found.join(',')}]}"
  end
end

$stdout.sync = true
puts "kaitai-struct #{Kaitai::Struct::VERSION}, Ruby #{RUBY_VERSION}"
$stdin.each_line do |line|
  number, version, data = line.chomp.split(' ', 3)
  told = version == '-' ? [] : [version.to_i]
  begin
    stream = Kaitai::Struct::Stream.new([data].pack('H*'))
    value = dump(CLASSES[number.to_i].new(stream, nil, nil, *told))
    puts "#{stream.eof? ? 'V' : 'R'}#{value}"
  rescue StandardError => e
    puts "E#{e.class}"
  end
end
