// Reads the recorded answers by the classes that openapi-generator makes for Java, and writes them again: nothing may be lost.

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;

public class ReadAnswers {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper strict = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    // A field that an answer does not have is null.
    strict.setSerializationInclusion(JsonInclude.Include.NON_NULL);
    File[] files = new File(arguments[0]).listFiles();
    for (File file : files) {
      String schema = file.getName().split("\\.")[0];
      Object read = strict.readValue(file, Class.forName("vestibule.model." + schema));
      JsonNode written = strict.valueToTree(read);
      JsonNode answer = strict.readTree(file);
      // A number without a fraction may come back with one.
      if (!answer.equals((a, b) -> a.isNumber() && b.isNumber() ? Double.compare(a.doubleValue(), b.doubleValue()) : a.equals(b) ? 0 : 1, written)) {
        throw new AssertionError(file.getName() + ": " + answer + " came back as " + written);
      }
    }
    System.out.println("the classes of Java read " + files.length + " answers");
  }
}
